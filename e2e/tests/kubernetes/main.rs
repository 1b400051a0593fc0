//! `ballast run` against a real control plane: kube-apiserver, kube-scheduler and kube-controller-manager decide, kwok answers
//! for the nodes, and a cloud of the test's own runs the machines. And the kubelet of ours, against the same.

mod approve;
mod asks;
mod commands;
mod crashes;
mod deputy;
mod events;
mod faults;
mod health;
mod kubelet;
mod leaders;
mod life;
mod outages;
mod rbac;
mod requests;
mod stage;
mod status;
