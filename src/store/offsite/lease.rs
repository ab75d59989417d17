//! The lease of a notebook in a store: who may push it.
//!
//! A claim is an object whose key begins with an epoch. A server that wants the lease writes a
//! claim with the next epoch, lists the claims again, and holds the lease if no other claim has
//! this epoch or a higher one. Else it withdraws. Of two servers that claim at the same time, at
//! least one sees the other's claim, because a store's listing shows what was written before it. So
//! no conditional write is needed, which not every S3 server has.
//!
//! The holder writes its claim again every `BEAT`. A claim that has not been written for `EXPIRY`,
//! by the store's clock, is void.

use super::{Place, digits, number, version};
use crate::problem::Problem;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Interval at which a holder renews its lease.
pub(super) const BEAT: Duration = Duration::from_secs(60);
/// Age at which a claim is void.
const EXPIRY: Duration = Duration::from_secs(300);
/// How often a server claims the lease when others claim it at the same time.
const ATTEMPTS: usize = 5;

/// Who holds a lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// The name of the machine.
    pub host: String,
    /// The name of the user there.
    pub user: String,
    /// When the lease began, in milliseconds since the Unix epoch, by the holder's clock. Only
    /// shown.
    pub since: f64,
    /// Identifies the copy of the notebook: a directory on a machine.
    pub(super) id: String,
}

impl Holder {
    /// User and machine, as a phrase.
    pub fn in_words(&self) -> String {
        format!("{} on {}", self.user, self.host)
    }

    /// When the lease began, in UTC.
    pub fn since_in_words(&self) -> String {
        super::time_in_words(self.since)
    }
}

/// A lease that this process holds, unless another has taken it over.
#[derive(Debug)]
pub(super) struct Lease {
    place: Place,
    holder: Holder,
    pub(super) epoch: u64,
}

/// The result of a claim.
#[derive(Debug)]
pub(super) enum Claimed {
    Ours(Lease),
    Held(Holder),
}

/// A claim in the store.
struct FoundClaim {
    epoch: u64,
    id: String,
    key: String,
}

impl Lease {
    /// Claims the lease. A claim of the same copy, left by a server that was killed, is taken over
    /// at once.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(super) fn claim(place: &Place, holder: Holder, take_over: bool) -> Result<Claimed, Problem> {
        let mut may_take_over = take_over;
        for attempt in 0..ATTEMPTS {
            let claims = claims(place)?;
            if let Some(top) = claims.last()
                && top.id != holder.id
                && !may_take_over
                && let Some(other) = held(place, top)?
            {
                return Ok(Claimed::Held(other));
            }
            let newest = version::list(place)?.last().map_or(0, |newest| newest.epoch);
            let epoch = claims.last().map_or(0, |top| top.epoch).max(newest) + 1;
            let lease = Self { place: place.clone(), holder: holder.clone(), epoch };
            lease.write()?;
            let rivals = self::claims(place)?;
            if rivals.iter().all(|rival| rival.epoch < epoch || rival.key == lease.key()) {
                // What is left of former holders. If removing fails, it does no harm.
                rivals
                    .iter()
                    .filter(|old| old.epoch < epoch)
                    .for_each(|old| drop(place.store.delete(&old.key)));
                return Ok(Claimed::Ours(lease));
            }
            place.store.delete(&lease.key())?;
            // Only the first of several takers takes over.
            may_take_over = false;
            std::thread::sleep(Duration::from_millis(fastrand::u64(20..200 << attempt)));
        }
        let why = "several servers claim it at the same time";
        Err(Problem::new(crate::problem::Kind::Busy, format!("push {}", place.name), why, "try again"))
    }

    fn key(&self) -> String {
        format!("{}{}-{}", self.place.leases(), digits(self.epoch), self.holder.id)
    }

    fn write(&self) -> Result<(), Problem> {
        let body = serde_json::to_vec(&self.holder).unwrap_or_default();
        self.place.store.put(&self.key(), &body)
    }

    /// Who has taken the lease over; none if it is still held.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(super) fn taken_by(&self) -> Result<Option<Holder>, Problem> {
        if let Some(top) = claims(&self.place)?.last().filter(|top| top.epoch > self.epoch) {
            return Ok(Some(read(&self.place, top)?.map_or_else(unknown, |(holder, _)| holder)));
        }
        let newest = version::list(&self.place)?.pop().filter(|newest| newest.epoch > self.epoch);
        // The taker has pushed, and has given up the lease since.
        Ok(newest.map(|_| unknown()))
    }

    /// Renews the lease. Returns who has taken it over, if somebody has.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(super) fn renew(&self) -> Result<Option<Holder>, Problem> {
        let taken = self.taken_by()?;
        if taken.is_none() {
            self.write()?;
        }
        Ok(taken)
    }

    /// Gives the lease up.
    ///
    /// # Errors
    /// When the store does not answer. The lease then expires.
    pub(super) fn release(self) -> Result<(), Problem> {
        self.place.store.delete(&self.key())
    }
}

fn unknown() -> Holder {
    Holder { host: "another machine".into(), user: "unknown".into(), since: 0.0, id: String::new() }
}

/// All claims, the highest epoch last.
fn claims(place: &Place) -> Result<Vec<FoundClaim>, Problem> {
    let prefix = place.leases();
    let claim = |key: String| {
        let (epoch, id) = key.strip_prefix(&prefix)?.split_once('-')?;
        Some(FoundClaim { epoch: number(epoch)?, id: id.to_owned(), key: key.clone() })
    };
    Ok(place.store.list(&prefix)?.into_iter().filter_map(claim).collect())
}

/// The holder that a claim names, unless the claim is void.
fn held(place: &Place, claim: &FoundClaim) -> Result<Option<Holder>, Problem> {
    Ok(read(place, claim)?.and_then(|(holder, age)| (age < EXPIRY).then_some(holder)))
}

/// The content of a claim and its age; none if it has been withdrawn.
fn read(place: &Place, claim: &FoundClaim) -> Result<Option<(Holder, Duration)>, Problem> {
    let Some(object) = place.store.get(&claim.key)? else { return Ok(None) };
    let holder = serde_json::from_slice(&object.bytes).unwrap_or_else(|_| unknown());
    Ok(Some((holder, object.age)))
}
