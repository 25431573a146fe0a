//! Free ports for a cluster, and locks between clusters of different processes.
//!
//! A lock is a socket in the abstract namespace: no file is left behind, and the kernel frees it
//! with its process.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::error::Error;

/// Below the range the kernel takes for outgoing connections.
const FIRST: u16 = 20_000;
const BLOCKS: u16 = 1_400;
const BLOCK: u16 = 8;

/// A name that one cluster at a time can hold.
pub(crate) struct Lock {
    _socket: UnixListener,
}

impl Lock {
    /// Takes the name, or nothing when another cluster holds it.
    pub(crate) fn take(name: &str) -> Option<Self> {
        let address = SocketAddr::from_abstract_name(format!("slurm-test-cluster/{name}")).ok()?;
        Some(Self { _socket: UnixListener::bind_addr(&address).ok()? })
    }
}

/// A block of ports: the first for slurmctld, one more for each slurmd.
pub(crate) struct Ports {
    first: u16,
    _lock: Lock,
}

impl Ports {
    pub(crate) fn find() -> Result<Self, Error> {
        let start = u16::try_from(std::process::id() % u32::from(BLOCKS)).unwrap_or(0);
        for block in (0..BLOCKS).map(|step| (start + step) % BLOCKS) {
            let first = FIRST + block * BLOCK;
            let Some(lock) = Lock::take(&format!("ports/{first}")) else {
                continue;
            };
            let free = |port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok();
            if (first..first + BLOCK).all(free) {
                return Ok(Self { first, _lock: lock });
            }
        }
        Err(Error::NoPorts)
    }

    pub(crate) const fn slurmctld(&self) -> u16 {
        self.first
    }

    /// The port of the slurmd with this index, from 0.
    pub(crate) fn slurmd(&self, index: usize) -> u16 {
        self.first + 1 + u16::try_from(index).unwrap_or(0)
    }

    /// Whether something listens on slurmctld's port. To connect would leave an error in its log.
    pub(crate) fn slurmctld_listens(&self) -> bool {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        let address = format!(":{:04X}", self.slurmctld());
        // The second column is the local address, the fourth the state; 0A is listening.
        table.lines().any(|line| {
            let mut columns = line.split_whitespace().skip(1).step_by(2);
            columns.next().is_some_and(|local| local.ends_with(&address))
                && columns.next() == Some("0A")
        })
    }
}
