//! The scalers. Each looks at the snapshot and says what it wishes; none acts alone.
//!
//! A scaler is a folder with the same things: the view of what is seen, the pure decision, and its story in the module
//! comment; the policy that people write lives in [`crate::policy`].

pub mod nodes;
