//! A cluster in virtual time.
