//! Protobuf as it lies on the wire: fields of a message one after the other, read in place, written in place.
//!
//! Knows no message type. Written out because a generated decoder copies each part of a message, or counts references to
//! it, and a generated encoder wants the answer as a tree of strings first; here both cost more than the rest of the door.

/// The bytes are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'m> {
    /// A number.
    Varint(u64),
    /// A string, bytes, or a message.
    Bytes(&'m [u8]),
    /// Something that no field we know has.
    Other,
}

impl<'m> Value<'m> {
    /// The bytes of a field that has to hold some.
    pub fn bytes(self) -> Result<&'m [u8], Malformed> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Err(Malformed) }
    }

    /// The number of a field that has to hold one; 32 bits of it, as for `uint32`.
    pub fn number(self) -> Result<u32, Malformed> {
        // As protobuf says: what does not fit is cut off.
        if let Self::Varint(number) = self { Ok(number as u32) } else { Err(Malformed) }
    }
}

/// Groups (a relic that no message of ours has) may lie in each other this deep.
const GROUPS: u32 = 100;

/// Gives `field` the number and the value of each field of a message, in order.
pub fn each<'m>(
    mut message: &'m [u8],
    mut field: impl FnMut(u32, Value<'m>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    while !message.is_empty() {
        let (number, value) = next(&mut message, GROUPS)?;
        field(number, value)?;
    }
    Ok(())
}

/// Takes one field off the front of a message.
#[inline]
fn next<'m>(message: &mut &'m [u8], groups: u32) -> Result<(u32, Value<'m>), Malformed> {
    match usual(message) {
        Some((number, bytes)) => Ok((number, Value::Bytes(bytes))),
        None => any(message, groups),
    }
}

/// Takes a field off the front that holds bytes, as nearly all do, and has a number of one byte; else nothing is taken.
#[inline]
pub fn usual<'m>(message: &mut &'m [u8]) -> Option<(u32, &'m [u8])> {
    const NUMBER: u32 = 0x78;
    let [tag, rest @ ..] = *message else { return None };
    let (tag, mut rest) = (u32::from(*tag), rest);
    if tag & !NUMBER != LENGTH || tag & NUMBER == 0 {
        return None;
    }
    let size = usize::try_from(varint(&mut rest).ok()?).ok()?;
    let bytes = take(&mut rest, size).ok()?;
    *message = rest;
    Some((tag >> 3, bytes))
}

fn any<'m>(message: &mut &'m [u8], groups: u32) -> Result<(u32, Value<'m>), Malformed> {
    let tag = u32::try_from(varint(message)?).map_err(|_| Malformed)?;
    let number = tag >> 3;
    let value = match tag & 7 {
        _ if number == 0 => return Err(Malformed),
        0 => Value::Varint(varint(message)?),
        1 => take(message, 8).map(|_| Value::Other)?,
        2 => {
            let size = usize::try_from(varint(message)?).map_err(|_| Malformed)?;
            Value::Bytes(take(message, size)?)
        }
        3 => skip_group(message, number, groups.checked_sub(1).ok_or(Malformed)?)?,
        5 => take(message, 4).map(|_| Value::Other)?,
        _ => return Err(Malformed),
    };
    Ok((number, value))
}

fn take<'m>(message: &mut &'m [u8], size: usize) -> Result<&'m [u8], Malformed> {
    let (taken, rest) = message.split_at_checked(size).ok_or(Malformed)?;
    *message = rest;
    Ok(taken)
}

fn varint(message: &mut &[u8]) -> Result<u64, Malformed> {
    // Tags and most lengths are one byte.
    if let [byte @ ..0x80, rest @ ..] = *message {
        *message = rest;
        return Ok(u64::from(*byte));
    }
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first().ok_or(Malformed)?;
        *message = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            // The tenth byte holds the one bit that is left.
            return if shift == 63 && *byte > 1 { Err(Malformed) } else { Ok(number) };
        }
    }
    Err(Malformed)
}

/// Skips the fields of a group, up to the tag that ends it.
fn skip_group<'m>(message: &mut &'m [u8], number: u32, groups: u32) -> Result<Value<'m>, Malformed> {
    const END: u32 = 4;
    loop {
        let mut ahead = *message;
        let tag = u32::try_from(varint(&mut ahead)?).map_err(|_| Malformed)?;
        if tag & 7 == END {
            *message = ahead;
            return if tag >> 3 == number { Ok(Value::Other) } else { Err(Malformed) };
        }
        next(message, groups)?;
    }
}

/// A message in the making.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Begins behind these bytes.
    pub fn behind(start: Vec<u8>) -> Self {
        Self(start)
    }

    /// All bytes written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// A field with text or bytes.
    #[inline]
    pub fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A field with a number, an enumerator or a truth value.
    #[inline]
    pub fn number(&mut self, number: u32, value: u64) {
        self.tag(number, VARINT);
        self.varint(value);
    }

    /// A field with a `double`.
    #[inline]
    pub fn double(&mut self, number: u32, value: f64) {
        self.tag(number, EIGHT_BYTES);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// A field with a message, whose fields `inside` writes.
    #[inline]
    pub fn message(&mut self, number: u32, inside: impl FnOnce(&mut Self)) {
        self.tag(number, LENGTH);
        self.0.push(0);
        let start = self.0.len();
        inside(self);
        let size = self.0.len() - start;
        match self.0.get_mut(start - 1) {
            Some(length) if size < 0x80 => *length = size as u8,
            _ => self.make_room(start, size),
        }
    }

    /// Writes the length of a message that begins at `start`, for which one byte was left and is not enough.
    fn make_room(&mut self, start: usize, size: usize) {
        let end = self.0.len();
        self.varint(size as u64);
        // It stands behind the message now: in front of it, and the byte that was left to the end, where it is dropped.
        let length = self.0.len() - end;
        if let Some(bytes) = self.0.get_mut(start - 1..) {
            bytes.rotate_right(length);
            if let Some(behind) = bytes.get_mut(length..) {
                behind.rotate_left(1);
            }
        }
        self.0.pop();
    }

    #[inline]
    fn tag(&mut self, number: u32, kind: u32) {
        self.varint(u64::from(number << 3 | kind));
    }

    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// How the value of a field is written.
const VARINT: u32 = 0;
const EIGHT_BYTES: u32 = 1;
const LENGTH: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(message: &[u8]) -> Result<Vec<(u32, Value<'_>)>, Malformed> {
        let mut fields = Vec::new();
        each(message, |number, value| {
            fields.push((number, value));
            Ok(())
        })?;
        Ok(fields)
    }

    #[test]
    fn fields_of_every_kind() {
        use Value::{Bytes, Other, Varint};
        for (message, expected) in [
            (&b""[..], Ok(vec![])),
            (b"\x08\x01", Ok(vec![(1, Varint(1))])),
            (b"\x08\xac\x02", Ok(vec![(1, Varint(300))])),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Ok(vec![(1, Varint(u64::MAX))])),
            (b"\x12\x02ab\x10\x05", Ok(vec![(2, Bytes(b"ab")), (2, Varint(5))])),
            (b"\x09abcdefgh", Ok(vec![(1, Other)])),
            (b"\x0dabcd", Ok(vec![(1, Other)])),
            (b"\x0b\x08\x01\x13\x14\x0c\x08\x02", Ok(vec![(1, Other), (1, Varint(2))])),
            (b"\xfa\x3f\x01x", Ok(vec![(1023, Bytes(b"x"))])),
            (b"\x08", Err(Malformed)),
            (b"\x08\x80", Err(Malformed)),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", Err(Malformed)),
            (b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", Err(Malformed)),
            (b"\x12\x03ab", Err(Malformed)),
            (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Err(Malformed)),
            (b"\x02\x01", Err(Malformed)),
            (b"\x0c", Err(Malformed)),
            (b"\x0b\x08\x01", Err(Malformed)),
            (b"\x0b\x14", Err(Malformed)),
            (b"\x0e", Err(Malformed)),
            (b"\xf8\xff\xff\xff\x1f\x01", Err(Malformed)),
            (b"\x0dabc", Err(Malformed)),
        ] {
            assert_eq!(fields(message), expected, "{}", message.escape_ascii());
        }
        assert_eq!(fields(&[0x0b; 1_000_000]), Err(Malformed), "groups without end");
    }

    #[test]
    fn what_is_written_is_read() {
        let long = [b'x'; 70_000];
        let mut writer = Writer::behind(b"before".to_vec());
        writer.message(1, |inside| {
            inside.bytes(2, b"ab");
            inside.message(3, |_| {});
            inside.message(4, |inside| inside.bytes(1, &long));
        });
        writer.number(5, 300);
        writer.double(6, 0.5);
        let bytes = writer.finish();
        let message = bytes.strip_prefix(b"before").unwrap();
        let outer = fields(message).unwrap();
        assert_eq!(outer[1..], [(5, Value::Varint(300)), (6, Value::Other)]);
        let inner = fields(outer[0].1.bytes().unwrap()).unwrap();
        assert_eq!(inner[..2], [(2, Value::Bytes(b"ab")), (3, Value::Bytes(b""))]);
        assert_eq!(fields(inner[2].1.bytes().unwrap()).unwrap(), [(1, Value::Bytes(&long[..]))]);
    }
}
