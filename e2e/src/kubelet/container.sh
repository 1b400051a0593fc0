# A container, in the sandbox of its pod and in mount and process namespaces of its own: sees the file system of the host below
# a layer of its own, so that nothing it writes is seen outside, with its volumes at their places; then becomes the command.
# $1: the folder of the pod, $2: the name of the layer, $3: the table of mounts, $4: ro or rw, then the command
set -eu
read -r process _ </proc/self/stat
pod=$1 layer=$1/layers/$2 table=$3 access=$4
shift 4
tree=$layer/tree
count=0
tab=$(printf '\t')
mkdir -p "$tree"

# A file system of the host, with a layer of the container's own above it.
lay() {
  count=$((count + 1))
  mkdir -p "$layer/upper$count" "$layer/spare$count"
  chmod --reference="$1" "$layer/upper$count"
  chown --reference="$1" "$layer/upper$count"
  mount -t overlay -o "lowerdir=$1,upperdir=$layer/upper$count,workdir=$layer/spare$count" overlay "$tree$1"
}

points=$(while read -r _ _ _ _ point _; do echo "$point"; done </proc/self/mountinfo)
lay /
echo "$points" | while read -r point; do
  case $point in
    / | /proc | /proc/* | /sys | /sys/* | /dev | /dev/* | /run | /run/* | "$pod"/* | *\\*) continue ;;
  esac
  if [ -d "$point" ] && [ -d "$tree$point" ]; then
    lay "$point" 2>/dev/null || mount -o bind,ro "$point" "$tree$point"
  elif [ -f "$point" ] && [ -f "$tree$point" ]; then
    mount -o bind,ro "$point" "$tree$point"
  fi
done

mount -t proc proc "$tree/proc"
mount --rbind /sys "$tree/sys"
mount -t tmpfs -o mode=755 run "$tree/run"
mount -t tmpfs -o mode=755 dev "$tree/dev"
for device in null zero full random urandom tty; do
  : >"$tree/dev/$device"
  mount --bind "/dev/$device" "$tree/dev/$device"
done
mkdir "$tree/dev/shm" "$tree/dev/pts"
mount --bind "$pod/shm" "$tree/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$tree/dev/pts"
ln -s pts/ptmx "$tree/dev/ptmx"
ln -s /proc/self/fd "$tree/dev/fd"
ln -s /proc/self/fd/0 "$tree/dev/stdin"
ln -s /proc/self/fd/1 "$tree/dev/stdout"
ln -s /proc/self/fd/2 "$tree/dev/stderr"

# From here on inside: links in paths lead to places of the container, never of the host.
mkdir -p "$tree/.host"
pivot_root "$tree" "$tree/.host"
cd /
while IFS=$tab read -r source target mode; do
  if [ -d "/.host$source" ]; then
    mkdir -p "$target"
  else
    mkdir -p "${target%/*}/"
    [ ! -L "$target" ] || rm "$target"
    [ -e "$target" ] || : >"$target"
  fi
  mount --bind "/.host$source" "$target"
  [ "$mode" = rw ] || mount -o remount,bind,ro "$target"
done <"/.host$table"
umount -l /.host
rmdir /.host
[ "$access" = rw ] || mount -o remount,bind,ro /

echo "running as $process"
exec "$@" 2>&1
