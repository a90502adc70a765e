//! The `TX` collection of one transaction: slots for names known at load time, a list for all others.

use std::hash::{BuildHasher as _, RandomState};

use crate::ruleset::index::{TxNames, TxSlot};

/// Up to so many names are looked through one by one.
const FEW: usize = 32;

/// The TX variables of a transaction. Clearing keeps the memory.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tx {
    slots: Vec<Option<Vec<u8>>>,
    /// Names made of macros, lower case, in the order in which they were first set.
    dynamic: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where names stand in `dynamic`, in order of their hashes, while there are more than a few: a client may choose a
    /// thousand names.
    places: Vec<(u64, usize)>,
    /// With a secret, so that names cannot be chosen to meet.
    hasher: RandomState,
    /// No capture from this slot on is set.
    captured: u16,
    /// Value buffers that wait to be used again.
    spare: Vec<Vec<u8>>,
    /// Whose slots these were, 0 for nobody's, and a bit for each that was touched since.
    origin: u64,
    touched: Vec<u64>,
}

impl Tx {
    /// Unsets everything and makes room for `len` slots.
    pub(crate) fn reset(&mut self, len: usize) {
        for slot in &mut self.slots {
            self.spare.extend(slot.take());
        }
        self.slots.resize(len, None);
        self.captured = 0;
        self.forget_dynamic();
        self.begin_from(0);
    }

    /// What is touched from now on is told apart from what `origin` left.
    fn begin_from(&mut self, origin: u64) {
        self.origin = origin;
        self.touched.clear();
        self.touched.resize(self.slots.len().div_ceil(64), 0);
    }

    fn forget_dynamic(&mut self) {
        self.places.clear();
        for (name, value) in self.dynamic.drain(..) {
            self.spare.push(name);
            self.spare.push(value);
        }
    }

    /// Takes over the slots of another; what is set otherwise is unset. The other never changes as long as it has this
    /// number, 0 for none: then only those are put back that were touched since it was last taken over.
    pub(crate) fn copy(&mut self, other: &Self, number: u64) {
        self.forget_dynamic();
        self.captured = other.captured;
        if number == 0 || self.origin != number {
            self.slots.resize(other.slots.len(), None);
            for (place, value) in self.slots.iter_mut().zip(&other.slots) {
                put(place, &mut self.spare, value.as_deref());
            }
            return self.begin_from(number);
        }
        for (word, bits) in self.touched.iter_mut().enumerate() {
            while *bits != 0 {
                let slot = 64 * word + bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                if let Some((place, value)) = self.slots.get_mut(slot).zip(other.slots.get(slot)) {
                    put(place, &mut self.spare, value.as_deref());
                }
            }
        }
    }

    fn touch(&mut self, slot: TxSlot) {
        if let Some(word) = self.touched.get_mut(slot.get() / 64) {
            *word |= 1 << (slot.get() % 64);
        }
    }

    /// The value in a slot, `None` when it is unset.
    pub(crate) fn get(&self, slot: TxSlot) -> Option<&[u8]> {
        self.slots.get(slot.get())?.as_deref()
    }

    /// Sets a slot.
    pub(crate) fn set(&mut self, slot: TxSlot, value: &[u8]) {
        if slot.is_capture() {
            self.captured = self.captured.max(slot.0 + 1);
        }
        self.touch(slot);
        if let Some(place) = self.slots.get_mut(slot.get()) {
            fill(place, &mut self.spare, value);
        }
    }

    /// Unsets a slot.
    pub(crate) fn unset(&mut self, slot: TxSlot) {
        self.touch(slot);
        if let Some(place) = self.slots.get_mut(slot.get()) {
            self.spare.extend(place.take());
        }
    }

    /// Where a name stands in `dynamic`.
    fn find(&self, lower_name: &[u8]) -> Option<usize> {
        let is = |place: &usize| self.dynamic.get(*place).is_some_and(|(name, _)| name == lower_name);
        if self.dynamic.len() <= FEW {
            return (0..self.dynamic.len()).find(is);
        }
        let hash = self.hasher.hash_one(lower_name);
        let first = self.places.partition_point(|(known, _)| *known < hash);
        let same = self.places.iter().skip(first).take_while(|(known, _)| *known == hash);
        same.map(|(_, place)| *place).find(is)
    }

    /// Notes where the last name stands; the first time that there are more than a few, where all do.
    fn note_place(&mut self) {
        let last = self.dynamic.len().saturating_sub(1);
        if last < FEW {
            return;
        }
        let mut from = last;
        if last == FEW {
            self.places.clear();
            from = 0;
        }
        for (place, (name, _)) in self.dynamic.iter().enumerate().skip(from) {
            let place = (self.hasher.hash_one(name), place);
            self.places.insert(self.places.partition_point(|known| *known < place), place);
        }
    }

    /// The value of a name that has no slot.
    pub(crate) fn get_dynamic(&self, lower_name: &[u8]) -> Option<&[u8]> {
        let place = self.find(lower_name)?;
        self.dynamic.get(place).map(|(_, value)| value.as_slice())
    }

    /// Sets a name that has no slot.
    pub(crate) fn set_dynamic(&mut self, lower_name: &[u8], value: &[u8]) {
        if let Some((_, old)) = self.find(lower_name).and_then(|place| self.dynamic.get_mut(place)) {
            old.clear();
            old.extend_from_slice(value);
            return;
        }
        let mut copy = |text: &[u8]| {
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(text);
            buffer
        };
        let pair = (copy(lower_name), copy(value));
        self.dynamic.push(pair);
        self.note_place();
    }

    /// Unsets a name that has no slot.
    pub(crate) fn unset_dynamic(&mut self, lower_name: &[u8]) {
        let Some(gone) = self.find(lower_name) else { return };
        let (name, value) = self.dynamic.remove(gone);
        self.spare.extend([name, value]);
        self.places.retain(|(_, place)| *place != gone);
        self.places.iter_mut().filter(|(_, place)| *place > gone).for_each(|(_, place)| *place -= 1);
    }

    /// All set variables: name and value.
    pub(crate) fn iter<'t>(&'t self, names: &'t TxNames) -> impl Iterator<Item = (&'t [u8], &'t [u8])> {
        let slots = self.slots.iter().enumerate().filter_map(|(index, value)| {
            let slot = TxSlot(u16::try_from(index).ok()?);
            Some((names.name(slot), value.as_deref()?))
        });
        slots.chain(self.iter_dynamic())
    }

    /// The set variables that have no slot.
    pub(crate) fn iter_dynamic(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.dynamic.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }

    /// Replaces `TX.0` to `TX.9` by new captures; those that the match did not set become unset.
    pub(crate) fn set_captures<'c>(&mut self, captures: impl Iterator<Item = &'c [u8]>) {
        let mut next = 0;
        for (slot, text) in (0..10).zip(captures) {
            self.set(TxSlot(slot), text);
            next = slot + 1;
        }
        for slot in next..self.captured {
            self.unset(TxSlot(slot));
        }
        self.captured = next;
    }
}

/// Puts a value into a slot, or none.
fn put(place: &mut Option<Vec<u8>>, spare: &mut Vec<Vec<u8>>, value: Option<&[u8]>) {
    match value {
        Some(value) => fill(place, spare, value),
        None => spare.extend(place.take()),
    }
}

/// Puts a value into a slot, in memory that is there or was used before.
fn fill(place: &mut Option<Vec<u8>>, spare: &mut Vec<Vec<u8>>, value: &[u8]) {
    let text = place.get_or_insert_with(|| spare.pop().unwrap_or_default());
    text.clear();
    text.extend_from_slice(value);
}

/// The integer that a text starts with: blanks, a sign, digits; 0 without digits, clamped to 64 bits.
pub(crate) fn number(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let value = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0i64, |value, digit| value.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    if negative { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_like_atoi() {
        for (text, expected) in [("12abc", 12), ("", 0), ("abc", 0), (" 7", 7), ("-5", -5), ("+5", 5)] {
            assert_eq!(number(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(number(b"99999999999999999999"), i64::MAX);
    }

    #[test]
    fn dynamic_names_are_found_in_any_number() {
        let mut tx = Tx::default();
        let name = |number: u32| format!("name{number}").into_bytes();
        (0..500).for_each(|number| tx.set_dynamic(&name(number), &number.to_be_bytes()));
        (0..500).step_by(3).for_each(|number| tx.unset_dynamic(&name(number)));
        tx.set_dynamic(&name(1), b"again");
        for number in 0..500u32 {
            let expected = match number {
                1 => Some(b"again".to_vec()),
                _ => (number % 3 != 0).then(|| number.to_be_bytes().to_vec()),
            };
            assert_eq!(tx.get_dynamic(&name(number)), expected.as_deref(), "{number}");
        }
        let numbers: Vec<&[u8]> = tx.iter_dynamic().map(|(name, _)| name).collect();
        assert_eq!(numbers.len(), 333);
        assert_eq!(numbers[..3], [b"name1".as_slice(), b"name2", b"name4"]);
        // Few again, and many again.
        (0..480).for_each(|number| tx.unset_dynamic(&name(number)));
        (600..660).for_each(|number| tx.set_dynamic(&name(number), &number.to_be_bytes()));
        for number in (480..500u32).filter(|number| number % 3 != 0).chain(600..660) {
            assert_eq!(tx.get_dynamic(&name(number)), Some(number.to_be_bytes().as_slice()), "{number}");
        }
        assert_eq!(tx.get_dynamic(&name(1)), None);
    }

    #[test]
    fn what_is_taken_over_is_the_other_whatever_was_touched() {
        let mut others = [Tx::default(), Tx::default()];
        for (len, other) in [70, 200].into_iter().zip(&mut others) {
            other.reset(len);
            (0..len as u16).step_by(3).for_each(|slot| other.set(TxSlot(slot), &slot.to_be_bytes()));
        }
        let mut tx = Tx::default();
        for step in 0..600_usize {
            // Mostly the same one again, sometimes under no number, sometimes after a beginning from nothing.
            let which = usize::from(step / 7 % 3 == 0);
            if step % 31 == 0 {
                tx.reset(others[which].slots.len());
            }
            tx.copy(&others[which], if step % 13 == 0 { 0 } else { 1 + which as u64 });
            assert_eq!((&tx.slots, tx.captured), (&others[which].slots, others[which].captured), "{step}");
            for slot in [step % 70, step * 7 % 70, 69, 500] {
                tx.set(TxSlot(slot as u16), b"x");
                tx.unset(TxSlot((slot * 3 % 70) as u16));
            }
            tx.set_captures([b"a".as_slice(), b"b"].into_iter().take(step % 3));
            tx.set_dynamic(b"name", b"value");
        }
    }

    #[test]
    fn captures_replace_all_older_ones() {
        let names = TxNames::default();
        let mut tx = Tx::default();
        tx.reset(names.len());
        tx.set_captures([b"a".as_slice(), b"b", b"c"].into_iter());
        tx.set_captures([b"x".as_slice()].into_iter());
        assert_eq!(tx.iter(&names).collect::<Vec<_>>(), [(b"0".as_slice(), b"x".as_slice())]);
    }
}
