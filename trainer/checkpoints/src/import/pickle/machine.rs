//! The stack machine of pickles, protocols 2 to 5. It cannot call functions; [`super::calls`]
//! replaces calls with descriptions of their results.

use std::collections::HashMap;

use super::value::{Arena, Node, Ref};

/// Maximum number of values in one pickle, which take about half a gigabyte; a checkpoint of a large
/// model with its optimiser has some hundred thousand.
const MAX_VALUES: usize = 4_000_000;

/// State of the machine: its input and the values built so far.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(super) arena: Arena,
    stack: Vec<Ref>,
    /// Lengths of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<usize, Ref>,
    /// Number of values that calls copied into their results.
    copied: usize,
}

/// Result of a step; the error is a message.
pub(super) type Step<T = ()> = Result<T, String>;

/// Reads a pickle and returns all its values and the result. Nothing is ever called.
///
/// # Errors
/// A message that says what is wrong and where: a name that is not allowed, an unknown instruction,
/// or truncated bytes.
pub fn read(bytes: &[u8]) -> Result<(Arena, Ref), String> {
    read_first(bytes).map(|(arena, top, _)| (arena, top))
}

/// Reads the pickle at the start of some bytes; also returns its length in bytes.
///
/// # Errors
/// As [`read`].
pub fn read_first(bytes: &[u8]) -> Result<(Arena, Ref, usize), String> {
    let mut machine = Machine {
        bytes,
        at: 0,
        arena: Arena::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        copied: 0,
    };
    loop {
        let start = machine.at;
        match machine.step() {
            Ok(None) => {}
            Ok(Some(value)) => return Ok((machine.arena, value, machine.at)),
            Err(reason) => return Err(format!("pickle, byte {start}: {reason}")),
        }
    }
}

impl Machine<'_> {
    /// Executes one instruction; the last one returns the value of the pickle.
    fn step(&mut self) -> Step<Option<Ref>> {
        let code = self.take(1)?[0];
        match code {
            b'.' => return self.pop().map(Some),
            // Protocol version and frame lengths are not needed when reading from memory.
            0x80 => drop(self.take(1)?),
            0x95 => drop(self.take(8)?),
            b'N' => self.push(Node::None)?,
            0x88 => self.push(Node::Bool(true))?,
            0x89 => self.push(Node::Bool(false))?,
            b'K' | b'M' | b'J' | 0x8a | 0x8b | b'G' => self.number(code)?,
            0x8c => self.text(1)?,
            b'X' => self.text(4)?,
            0x8d => self.text(8)?,
            b'C' | b'U' => self.skip_bytes(1)?,
            b'B' | b'T' => self.skip_bytes(4)?,
            0x8e | 0x96 => self.skip_bytes(8)?,
            b'(' => self.marks.push(self.stack.len()),
            b'0' => drop(self.pop()?),
            b'1' => drop(self.above_mark()?),
            b'2' => {
                let top = *self.stack.last().ok_or("the stack is empty")?;
                self.stack.push(top);
            }
            b'h' | b'j' | b'q' | b'r' | 0x94 => self.remember(code)?,
            b')' | b'}' | b']' | 0x8f | b't' | b'l' | b'd' | 0x85..=0x87 => self.collect(code)?,
            b'a' | b'e' | 0x90 | b's' | b'u' => self.extend(code)?,
            b'c' | 0x93 => self.name(code)?,
            b'Q' => self.storage()?,
            b'R' | 0x81 => self.call()?,
            b'b' => {
                // The state of an object, such as the attributes of a dictionary, is not needed.
                self.pop()?;
                self.stack.last().ok_or("the stack is empty")?;
            }
            other => {
                return Err(format!(
                    "instruction {other:#04x} does not belong in a tensor file"
                ));
            }
        }
        Ok(None)
    }

    fn take(&mut self, count: usize) -> Step<&[u8]> {
        let end = self
            .at
            .checked_add(count)
            .filter(|e| *e <= self.bytes.len());
        let end = end.ok_or_else(|| format!("expected {count} more bytes, found the end"))?;
        let found = &self.bytes[self.at..end];
        self.at = end;
        Ok(found)
    }

    /// Reads a little-endian number of up to eight bytes.
    fn length(&mut self, bytes: usize) -> Step<usize> {
        let found = self.take(bytes)?;
        let value = found
            .iter()
            .rev()
            .fold(0_u64, |n, b| n << 8 | u64::from(*b));
        usize::try_from(value).map_err(|_| format!("a length of {value} is too large"))
    }

    pub(super) fn line(&mut self) -> Step<String> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|b| *b == b'\n');
        let end = end.ok_or("expected a line, found the end")?;
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        self.at += end + 1;
        Ok(line)
    }

    pub(super) fn push(&mut self, node: Node) -> Step {
        let at = self.arena.push(node);
        if at >= MAX_VALUES {
            return Err(format!("more than {MAX_VALUES} values"));
        }
        self.stack.push(at);
        Ok(())
    }

    /// Counts values that a call copies into its result. A pickle may name one long list in many
    /// calls, so that the copies would take memory with the square of its size.
    pub(super) fn copy(&mut self, count: usize) -> Step {
        self.copied += count;
        if self.copied > self.bytes.len() {
            return Err("its calls copy more values than the pickle has bytes".into());
        }
        Ok(())
    }

    /// Pops the top value; values below a mark cannot be popped.
    pub(super) fn pop(&mut self) -> Step<Ref> {
        if self.stack.len() <= self.marks.last().copied().unwrap_or(0) {
            return Err("the stack is empty".into());
        }
        self.stack.pop().ok_or_else(|| "the stack is empty".into())
    }

    fn above_mark(&mut self) -> Step<Vec<Ref>> {
        let mark = self.marks.pop().ok_or("no mark is set")?;
        Ok(self.stack.split_off(mark))
    }

    fn number(&mut self, code: u8) -> Step {
        let node = match code {
            b'K' => Node::Int(i64::from(self.take(1)?[0])),
            b'M' => Node::Int(self.length(2)? as i64),
            b'J' => Node::Int(i64::from(self.length(4)? as u32 as i32)),
            b'G' => {
                let found = self.take(8)?;
                let bits = found.iter().fold(0_u64, |n, b| n << 8 | u64::from(*b));
                Node::Float(f64::from_bits(bits))
            }
            _ => {
                let size = self.length(if code == 0x8a { 1 } else { 4 })?;
                let found = self.take(size)?;
                match size {
                    0 => Node::Int(0),
                    1..=8 => {
                        // Two's complement: the last byte carries the sign.
                        let sign = if found[size - 1] >= 0x80 { -1_i64 } else { 0 };
                        let value = found.iter().rev();
                        Node::Int(value.fold(sign, |n, b| n << 8 | i64::from(*b)))
                    }
                    _ => Node::Opaque,
                }
            }
        };
        self.push(node)
    }

    /// Reads a text behind its length, which takes `width` bytes.
    fn text(&mut self, width: usize) -> Step {
        let size = self.length(width)?;
        let text = String::from_utf8_lossy(self.take(size)?).into_owned();
        self.push(Node::Text(text))
    }

    fn skip_bytes(&mut self, width: usize) -> Step {
        let size = self.length(width)?;
        self.take(size)?;
        self.push(Node::Opaque)
    }

    fn remember(&mut self, code: u8) -> Step {
        let key = match code {
            b'h' | b'q' => self.length(1)?,
            b'j' | b'r' => self.length(4)?,
            _ => self.memo.len(),
        };
        if matches!(code, b'h' | b'j') {
            let value = self.memo.get(&key).copied();
            self.stack
                .push(value.ok_or_else(|| format!("the memo has no entry {key}"))?);
        } else {
            let top = *self.stack.last().ok_or("the stack is empty")?;
            self.memo.insert(key, top);
        }
        Ok(())
    }

    fn collect(&mut self, code: u8) -> Step {
        let node = match code {
            b')' => Node::Tuple(Vec::new()),
            b'}' => Node::Dict(Vec::new()),
            b']' | 0x8f => Node::List(Vec::new()),
            b't' => Node::Tuple(self.above_mark()?),
            b'l' => Node::List(self.above_mark()?),
            b'd' => {
                let flat = self.above_mark()?;
                Node::Dict(pairs(&flat)?)
            }
            _ => {
                let count = usize::from(code - 0x84);
                let mut parts = Vec::with_capacity(count);
                for _ in 0..count {
                    parts.insert(0, self.pop()?);
                }
                Node::Tuple(parts)
            }
        };
        self.push(node)
    }

    fn extend(&mut self, code: u8) -> Step {
        let added = match code {
            b'a' => vec![self.pop()?],
            b's' => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
            _ => self.above_mark()?,
        };
        let target = *self.stack.last().ok_or("the stack is empty")?;
        match self.arena.get_mut(target) {
            Node::List(parts) if !matches!(code, b's' | b'u') => parts.extend(added),
            Node::Dict(entries) if matches!(code, b's' | b'u') => entries.extend(pairs(&added)?),
            _ => return Err("values are added to something that is not a container".into()),
        }
        Ok(())
    }
}

fn pairs(flat: &[Ref]) -> Step<Vec<(Ref, Ref)>> {
    if !flat.len().is_multiple_of(2) {
        return Err("a key without a value".into());
    }
    Ok(flat.chunks(2).map(|p| (p[0], p[1])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_are_read() {
        // {"a": [1, -2, 300, 1.5, None, True], "b": (), "a long": 2**40}, protocol 4 by hand.
        let bytes = b"\x80\x04\x95\0\0\0\0\0\0\0\0}\x94(\x8c\x01a\x94](K\x01J\xfe\xff\xff\xffM\x2c\
            \x01G\x3f\xf8\0\0\0\0\0\0N\x88e\x8c\x01b)\x8c\x06a long\x8a\x06\0\0\0\0\0\x01u.";
        let (arena, top) = read(bytes).unwrap();
        let list = arena.parts(arena.lookup(top, "a").unwrap()).unwrap();
        let found: Vec<Node> = list.iter().map(|r| arena.get(*r).clone()).collect();
        assert_eq!(
            found,
            [
                Node::Int(1),
                Node::Int(-2),
                Node::Int(300),
                Node::Float(1.5),
                Node::None,
                Node::Bool(true)
            ]
        );
        let long = arena.lookup(top, "a long").unwrap();
        assert_eq!(arena.get(long), &Node::Int(1 << 40));
    }

    #[test]
    fn a_name_that_could_run_code_is_refused_and_named() {
        let message = read(b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.").unwrap_err();
        assert!(
            message.starts_with("pickle, byte 2: it names `os.system`"),
            "{message}"
        );
        let message = read(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.").unwrap_err();
        assert!(message.contains("`builtins.eval`"), "{message}");
    }

    #[test]
    fn a_long_list_that_many_calls_name_is_refused() {
        // A list of 9000 values in the memo, then calls of OrderedDict or Size with it.
        let calls = |name: &str, count: usize| {
            let mut bytes = b"\x80\x02]q\0(".to_vec();
            bytes.extend(b"NN\x86".repeat(if name == "Size" { 0 } else { 3000 }));
            bytes.extend(b"N".repeat(if name == "Size" { 9000 } else { 0 }));
            bytes.push(b'e');
            let module = if name == "Size" {
                "torch"
            } else {
                "collections"
            };
            for _ in 0..count {
                bytes.extend(format!("c{module}\n{name}\nh\0").bytes());
                bytes.extend(b"\x85R");
            }
            bytes.push(b'.');
            bytes
        };
        for name in ["OrderedDict", "Size"] {
            assert!(read(&calls(name, 1)).is_ok(), "{name}");
            let message = read(&calls(name, 300)).unwrap_err();
            assert!(message.contains("copy more values"), "{message}");
        }
    }

    #[test]
    fn malformed_pickles_are_errors() {
        for bytes in [
            &b""[..],
            b"hello",
            b"\x80\x02",
            b".",
            b"(.",
            b"e",
            b"(K\x01t",
            b"K\x01(.",
            b"(K\x01u.",
            b"h\x07.",
            b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
            b")Q.",
            b"NNR.",
            b"ctorch\nFloatStorage\n)R.",
            b"\xff",
        ] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_million_nested_lists_are_read() {
        let mut bytes = b"\x80\x02".to_vec();
        bytes.extend(std::iter::repeat_n(b']', 1_000_000));
        bytes.extend(std::iter::repeat_n(b'a', 999_999));
        bytes.push(b'.');
        assert!(read(&bytes).is_ok());
        // A list that contains itself.
        assert!(read(b"]q\0h\0a.").is_ok());
    }
}
