//! Taking in buffers and requests: each finds the classes of the pods that it stands for.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kube::{Meta, Name, OwnerReference, PodTemplate};

use super::{Ask, AskKind, AskObject, AskRef, ClassKey, Snapshot, Store, UnitSet};

impl Store {
    pub(super) fn apply_ask(&mut self, object: AskObject) {
        let snapshot = self.snapshot_mut();
        let sets = if object.is_open() { object.sets() } else { Vec::new() };
        snapshot.forget_ask(&object.reference());
        snapshot.take_ask(Ask { object, sets });
    }

    pub(super) fn delete_ask(&mut self, kind: AskKind, (namespace, name): &(Name, Name)) {
        let reference = AskRef { kind, namespace: namespace.clone(), name: name.clone() };
        self.snapshot_mut().forget_ask(&reference);
    }

    pub(super) fn apply_template(&mut self, template: PodTemplate) {
        let key = (template.metadata.namespace.clone(), template.metadata.name.clone());
        let last = self.current.templates.get(&key);
        if last.is_some_and(|last| last.template == template.template) {
            return;
        }
        self.snapshot_mut().templates.insert(key.clone(), Arc::new(template));
        self.resolve_asks(&key);
    }

    pub(super) fn delete_template(&mut self, key: &(Name, Name)) {
        self.snapshot_mut().templates.remove(key);
        self.resolve_asks(key);
    }

    /// Looks up the classes of all asks anew that name a template.
    fn resolve_asks(&mut self, (namespace, template): &(Name, Name)) {
        let names_it = |(reference, ask): &(&AskRef, &Ask)| {
            reference.namespace == *namespace && ask.sets.iter().any(|set| set.template == *template)
        };
        let concerned = self.current.asks.iter().filter(names_it);
        let objects: Vec<AskObject> = concerned.map(|(_, ask)| ask.object.clone()).collect();
        objects.into_iter().for_each(|object| self.apply_ask(object));
    }
}

impl Snapshot {
    /// The asks of a kind, by namespace and name.
    pub(super) fn ask_keys(&self, kind: AskKind) -> FxHashMap<(Name, Name), ()> {
        let own = self.asks.keys().filter(|reference| reference.kind == kind);
        own.map(|reference| ((reference.namespace.clone(), reference.name.clone()), ())).collect()
    }

    fn take_ask(&mut self, mut ask: Ask) {
        let reference = ask.object.reference();
        for set in &mut ask.sets {
            let template = self.templates.get(&(reference.namespace.clone(), set.template.clone()));
            let key = template.map(|template| key_of(&reference, template));
            set.class = key.map(|key| self.take_class(key));
        }
        self.asks.insert(reference, ask);
        self.demand.renew();
    }

    fn forget_ask(&mut self, reference: &AskRef) {
        let Some(Ask { sets, .. }) = self.asks.remove(reference) else { return };
        sets.into_iter().filter_map(|UnitSet { class, .. }| class).for_each(|class| self.drop_class(class));
        self.demand.renew();
    }
}

/// The class of the pods that an ask stands for: it is theirs alone, for it is the ask that would make them.
fn key_of(reference: &AskRef, template: &PodTemplate) -> ClassKey {
    let owner = OwnerReference {
        kind: reference.kind.name().into(),
        name: reference.name.clone(),
        controller: true,
        ..OwnerReference::default()
    };
    let meta = Meta {
        namespace: reference.namespace.clone(),
        owner_references: vec![owner],
        ..template.template.metadata.clone()
    };
    ClassKey::new(&meta, &template.template.spec)
}
