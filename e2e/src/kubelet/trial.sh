# Whether this machine allows what the sandbox of a pod needs; changes nothing outside namespaces of its own.
exec unshare --net --uts --ipc --mount --pid --fork -- sh -euc '
  mount -t tmpfs trial /mnt
  mkdir /mnt/upper /mnt/spare /mnt/tree
  mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/spare overlay /mnt/tree
  ip link add trial0 type bridge
  ip link add trial1 type veth peer name trial2'
