//! Tests of copies in a store off this machine: pushing, pulling, leases, and removing blobs.

use super::facts::{new_run, new_state};
use super::trust::two;
use super::*;
use crate::notebook::{ExecId, Output, StateId, StreamName};
use crate::problem::Kind;
use crate::remote::RemoteStore;
use crate::store::check;
use crate::store::offsite::{Begun, Claim, Pulled, Pushed, Pusher, collect, pull, versions};
use std::fs;
use std::sync::atomic::AtomicBool;

static NEVER: AtomicBool = AtomicBool::new(false);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn begin(store: &RemoteStore, dir: &Dir, claim: Claim) -> Result<Begun, Problem> {
    Pusher::begin(store, &dir.notebook(), "main", &dir.key(), claim)
}

fn pusher(store: &RemoteStore, dir: &Dir) -> Box<Pusher> {
    match begin(store, dir, Claim::default()).unwrap() {
        Begun::Ready(pusher) => pusher,
        other => panic!("{other:?}"),
    }
}

fn push(store: &RemoteStore, dir: &Dir) -> Pushed {
    let mut pusher = pusher(store, dir);
    let pushed = pusher.push(&NEVER).unwrap();
    pusher.release();
    pushed
}

/// A notebook with two states that have checkpoints, which is closed.
fn notebook(name: &str) -> Dir {
    let dir = Dir::new(name);
    two(&dir).store.close();
    dir
}

/// Adds a state to a closed notebook.
fn add(dir: &Dir, id: &str) {
    let (opened, news) = dir.open();
    let run = new_run(&format!("run-{id}"), &StateId::root(), "z = 1");
    let state = new_state(id, id, &StateId::root(), Some(&ExecId::new(format!("run-{id}"))));
    opened.store.save_with_next(1, &Fact::RunAdded { run });
    opened.store.save(2, &Fact::StateAdded { state });
    wait(&news, 2);
    opened.store.close();
}

fn pulled(store: &RemoteStore, to: &Dir) -> Result<Pulled, Problem> {
    pull(store, "main", None, &to.notebook(), &to.key())
}

/// The number of objects in a store, and how many were written since the last call.
fn written(store: &RemoteStore) -> (usize, usize) {
    store.memory().with(|content| (content.objects.len(), std::mem::take(&mut content.written).len()))
}

#[test]
fn a_pulled_copy_is_the_notebook_that_was_pushed() {
    let (here, there, store) = (notebook("push"), Dir::new("pull"), RemoteStore::in_memory());
    let Pushed::Done(blobs, bytes) = push(&store, &here) else { panic!() };
    assert!(blobs > 8 && bytes > 500, "{blobs} {bytes}");
    let Pulled::Done { is_ours, is_update, .. } = pulled(&store, &there).unwrap() else { panic!() };
    assert!(!is_ours && !is_update, "another install has pulled it");
    assert!(check(&there.notebook()).unwrap().damage.is_empty());
    let (ours, theirs) = (here.open().0, there.open().0);
    assert_eq!(theirs.damage, Vec::<String>::new());
    assert_eq!(ours.store.notebook_id(), theirs.store.notebook_id());
    let trusted = |opened: &Opened| {
        let states = opened.parts.states.iter();
        states.filter_map(|s| Some(s.checkpoint.as_ref()?.is_trusted)).collect::<Vec<bool>>()
    };
    assert_eq!((trusted(&ours), trusted(&theirs)), (vec![true, true], vec![false, false]));
    let ids = |opened: &Opened| opened.parts.states.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&ours), ids(&theirs));
    assert!(theirs.credentials.links.is_empty());
    ours.store.close();
    theirs.store.close();

    // The same key on another machine trusts it.
    let third = Dir::new("same-key");
    fs::create_dir_all(third.0.join("config")).unwrap();
    fs::copy(here.0.join("config/key"), third.0.join("config/key")).unwrap();
    assert!(matches!(pulled(&store, &third).unwrap(), Pulled::Done { is_ours: true, .. }));
    let opened = third.open().0;
    assert_eq!(trusted(&opened), [true, true]);
    opened.store.close();
}

#[test]
fn a_second_push_sends_only_what_is_new_and_a_killed_one_goes_on() {
    let (here, store) = (notebook("again"), RemoteStore::in_memory());
    // The store fails after three blobs.
    let mut first = pusher(&store, &here);
    store.memory().with(|content| content.writes_left = Some(3));
    assert_eq!(first.push(&NEVER).unwrap_err().kind, crate::problem::Kind::Store);
    drop(first);
    assert!(versions(&store, "main", &here.key()).is_err(), "nothing is pushed before all of it is");
    store.memory().with(|content| content.writes_left = None);
    let Pushed::Done(rest, _) = push(&store, &here) else { panic!() };
    written(&store);
    assert_eq!(push(&store, &here), Pushed::Unchanged);
    assert_eq!(written(&store).1, 1, "only the lease");
    add(&here, "third");
    let Pushed::Done(new, _) = push(&store, &here) else { panic!() };
    assert!(new <= 4 && new < rest, "{new} of {rest}: pieces of states, runs and the like");
    assert_eq!(versions(&store, "main", &here.key()).unwrap().len(), 2);
    // The browser's sign-in and the number of transactions are no change.
    here.open().0.store.close();
    assert_eq!(push(&store, &here), Pushed::Unchanged);
}

#[test]
fn an_altered_object_is_refused_and_nothing_of_it_is_used() {
    let (here, store) = (notebook("altered"), RemoteStore::in_memory());
    push(&store, &here);
    let keys = store.list("").unwrap();
    assert!(keys.iter().any(|key| key.starts_with("blobs/")));
    for key in keys {
        let there = Dir::new("altered-there");
        let whole = store.memory().with(|content| content.objects[&key].0.clone());
        let mut altered = whole.clone();
        let at = altered.len() / 2;
        altered[at] ^= 1;
        for bytes in [altered, whole[..whole.len() - 1].to_vec()] {
            store.memory().with(|content| content.objects.get_mut(&key).unwrap().0 = bytes);
            let problem = pulled(&store, &there).unwrap_err();
            // An altered blob is lost for everyone; an altered version is a fault of the store.
            let kind = if key.starts_with("blobs/") { Kind::Lost } else { Kind::Store };
            assert_eq!(problem.kind, kind, "{key}: {problem:?}");
            assert!(!there.notebook().exists());
        }
        store.memory().with(|content| content.objects.get_mut(&key).unwrap().0 = whole);
        // The interrupted pull goes on.
        assert!(matches!(pulled(&store, &there).unwrap(), Pulled::Done { .. }));
    }
    // A version that was moved to another notebook's place.
    let moved = store.list("notebooks/main/versions/").unwrap().remove(0);
    let object = store.get(&moved).unwrap().unwrap().bytes;
    store.put(&moved.replace("/main/", "/other/"), &object).unwrap();
    let there = Dir::new("moved");
    assert!(pull(&store, "other", None, &there.notebook(), &there.key()).is_err());
}

#[test]
fn one_copy_at_a_time_pushes_and_a_former_holder_is_fenced() {
    let (home, work, store) = (notebook("home"), Dir::new("work"), RemoteStore::in_memory());
    let mut first = pusher(&store, &home);
    first.push(&NEVER).unwrap();
    pulled(&store, &work).unwrap();
    let Begun::Held(holder) = begin(&store, &work, Claim::default()).unwrap() else { panic!() };
    assert!(!holder.host.is_empty() && holder.in_words().contains(" on "));
    assert_eq!(first.renew().unwrap(), None);

    let Begun::Ready(mut second) = begin(&store, &work, Claim { take_over: true, replace: false }).unwrap()
    else {
        panic!()
    };
    add(&work, "at-work");
    add(&home, "at-home");
    assert!(matches!(first.push(&NEVER).unwrap(), Pushed::TakenBy(_)));
    assert!(first.renew().unwrap().is_some());
    assert!(matches!(second.push(&NEVER).unwrap(), Pushed::Done(..)));
    second.release();
    assert!(first.renew().unwrap().is_some(), "also when the taker has ended");
    drop(first);
    // Home's copy lacks the version from work, and both have changes.
    let Begun::Behind(problem) = begin(&store, &home, Claim::default()).unwrap() else { panic!() };
    assert!(problem.why.contains("does not contain") && problem.how.contains("--as"), "{problem:?}");
    assert!(pulled(&store, &home).unwrap_err().why.contains("changes"));
    let Begun::Ready(mut home_again) =
        begin(&store, &home, Claim { take_over: false, replace: true }).unwrap()
    else {
        panic!()
    };
    assert!(matches!(home_again.push(&NEVER).unwrap(), Pushed::Done(..)));
    home_again.release();
    assert_eq!(versions(&store, "main", &home.key()).unwrap().len(), 3, "the version from work stays");
    // Work has no changes of its own: it is brought forward, and its old copy is in the trash.
    assert!(matches!(pulled(&store, &work).unwrap(), Pulled::Done { is_update: true, .. }));
    assert_eq!(pulled(&store, &work).unwrap(), Pulled::Unchanged);
    assert_eq!(crate::store::list(&work.0).len(), 1);
}

#[test]
fn a_lease_outlives_a_crash_for_five_minutes_but_not_for_the_same_copy() {
    let (home, work, store) = (notebook("crash"), Dir::new("crash-work"), RemoteStore::in_memory());
    push(&store, &home);
    pulled(&store, &work).unwrap();
    // It was killed: its claim stays.
    drop(pusher(&store, &home));
    drop(pusher(&store, &home));
    assert!(matches!(begin(&store, &work, Claim::default()).unwrap(), Begun::Held(_)));
    store.memory().pass(Duration::from_secs(299));
    assert!(matches!(begin(&store, &work, Claim::default()).unwrap(), Begun::Held(_)));
    store.memory().pass(Duration::from_secs(2));
    assert!(matches!(begin(&store, &work, Claim::default()).unwrap(), Begun::Ready(_)));
    assert!(matches!(begin(&store, &home, Claim::default()).unwrap(), Begun::Held(_)));
}

#[test]
fn many_claims_at_the_same_time_have_one_winner() {
    let store = RemoteStore::in_memory();
    let dirs: Vec<Dir> = (0..6).map(|n| Dir::new(&format!("race-{n}"))).collect();
    push(&store, &notebook("race"));
    for dir in &dirs {
        pulled(&store, dir).unwrap();
    }
    for _ in 0..5 {
        let claim = |dir: &Dir| begin(&store, dir, Claim::default());
        let begun: Vec<_> = std::thread::scope(|scope| {
            let claims: Vec<_> = dirs.iter().map(|dir| scope.spawn(move || claim(dir))).collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).collect()
        });
        let holders: Vec<_> = begun
            .into_iter()
            .filter_map(|one| one.ok())
            .filter(|one| matches!(one, Begun::Ready(_)))
            .collect();
        assert!(holders.len() <= 1, "{holders:?}");
        holders.into_iter().for_each(|one| {
            if let Begun::Ready(pusher) = one {
                pusher.release()
            }
        });
    }
}

#[test]
fn another_notebook_of_the_same_name_is_not_overwritten() {
    let (first, second, store) = (notebook("first"), notebook("second"), RemoteStore::in_memory());
    push(&store, &first);
    let problem = begin(&store, &second, Claim { take_over: true, replace: true }).unwrap_err();
    assert!(problem.why.contains("another notebook"), "{problem:?}");
    assert!(pulled(&store, &second).unwrap_err().why.contains("another notebook"));
    assert!(matches!(
        Pusher::begin(&store, &second.notebook(), "Second one", &second.key(), Claim::default()).unwrap(),
        Begun::Ready(_)
    ));
}

#[test]
fn only_old_blobs_that_no_version_names_are_collected() {
    let (here, store) = (notebook("collect"), RemoteStore::in_memory());
    let orphan = store.put_blob(b"of a push that never ended").unwrap();
    push(&store, &here);
    let key = here.key();
    let young = collect(&store, &key).unwrap();
    assert_eq!((young.young, young.removed), (1, 0));
    store.memory().pass(DAY * 8);
    let old = collect(&store, &key).unwrap();
    assert_eq!((old.young, old.removed, old.named), (0, 1, young.named));
    assert_eq!(store.blob_age(&orphan).unwrap(), None);
    assert!(matches!(pulled(&store, &Dir::new("collected")).unwrap(), Pulled::Done { .. }));

    // A push does not rely on an old blob that no version names.
    let versions = store.list("notebooks/main/versions/").unwrap();
    versions.iter().for_each(|version| store.delete(version).unwrap());
    fs::remove_file(here.notebook().join("offsite.json")).unwrap();
    let Pushed::Done(blobs, _) = push(&store, &here) else { panic!() };
    assert_eq!(blobs, young.named);
    // Damage hides references: nothing is removed.
    let version = store.list("notebooks/main/versions/").unwrap().remove(0);
    store.put(&version, b"altered").unwrap();
    store.memory().pass(DAY * 8);
    assert!(collect(&store, &key).is_err());
    assert_eq!(store.list("gc/").unwrap(), Vec::<String>::new());
}

#[test]
fn a_large_output_and_an_attachment_move_too() {
    let (here, there, store) = (notebook("large"), Dir::new("large-there"), RemoteStore::in_memory());
    crate::store::Attachments::in_notebook(&here.notebook()).add("picture", "png", b"a picture").unwrap();
    let (opened, news) = here.open();
    let mut run = new_run("long", &StateId::root(), "print()");
    let text = "a line\n".repeat(60_000);
    run.outputs.keep(Output::stream(StreamName::Stdout, text.as_str()));
    opened.store.save(1, &Fact::RunAdded { run });
    wait(&news, 1);
    opened.store.close();
    push(&store, &here);
    pulled(&store, &there).unwrap();
    let opened = there.open().0;
    let run = opened.parts.runs.iter().find(|run| run.exec_id.as_str() == "long").unwrap();
    assert!(run.outputs.kept_bytes() >= text.len());
    opened.store.close();
    assert_eq!(fs::read_dir(there.notebook().join("attachments")).unwrap().count(), 1);
}
