//! The names that a pickle may use, and descriptions of what its calls would create.

use espalier_io::disk::dtype::Number;

use super::machine::{Machine, Step};
use super::tensor::{Storage, TensorView};
use super::value::{Arena, Known, Node, Ref};

/// Maximum length of the key of a storage in bytes; PyTorch numbers them. Each tensor has its own copy.
const MAX_KEY: usize = 64;

/// Maximum number of dimensions of a tensor; weights have four at most.
const MAX_DIMENSIONS: usize = 16;

/// Returns the function or type of a name, if a pickle may use it.
fn allowed_name(module: &str, name: &str) -> Option<Known> {
    let storage = |number| Some(Known::StorageType(number));
    match (module, name) {
        ("collections", "OrderedDict") => Some(Known::OrderedDict),
        ("torch._utils", "_rebuild_tensor_v2") => Some(Known::RebuildTensor),
        ("torch._utils", "_rebuild_parameter") => Some(Known::RebuildParameter),
        ("torch", "Size") => Some(Known::Size),
        ("torch", "FloatStorage") => storage(Number::F32),
        ("torch", "DoubleStorage") => storage(Number::F64),
        ("torch", "HalfStorage") => storage(Number::F16),
        ("torch", "BFloat16Storage") => storage(Number::Bf16),
        ("torch", "LongStorage") => storage(Number::Whole(8)),
        ("torch", "IntStorage") => storage(Number::Whole(4)),
        ("torch", "ShortStorage") => storage(Number::Whole(2)),
        ("torch", "CharStorage" | "ByteStorage" | "BoolStorage") => storage(Number::Whole(1)),
        _ => None,
    }
}

impl Machine<'_> {
    /// Reads a name; refuses all except the few known ones.
    pub(super) fn name(&mut self, code: u8) -> Step {
        let (module, name) = if code == b'c' {
            (self.line()?, self.line()?)
        } else {
            let (name, module) = (self.pop()?, self.pop()?);
            let text = |at| self.arena.text(at).map(str::to_owned);
            let found = text(module).zip(text(name));
            found.ok_or("a name is not a string")?
        };
        let found = allowed_name(&module, &name).ok_or_else(|| {
            format!(
                "it names `{module}.{name}`, which is not needed to hold tensors and could run \
                 code; nothing was run. Save only the weights, preferably as safetensors"
            )
        })?;
        self.push(Node::Known(found))
    }

    /// Reads a reference to a storage: `("storage", type, key, device, length)`; before PyTorch 1.6
    /// followed by `None`, which means the whole storage.
    pub(super) fn storage(&mut self) -> Step {
        let tuple = self.pop()?;
        let parts = self.arena.parts(tuple).unwrap_or_default();
        let read = || {
            let [kind, number, key, _, len, view @ ..] = parts else {
                return None;
            };
            let is_complete = match view {
                [] => true,
                [view] => self.arena.get(*view) == &Node::None,
                _ => false,
            };
            let Node::Known(Known::StorageType(number)) = self.arena.get(*number) else {
                return None;
            };
            let key = self.arena.text(*key).filter(|key| key.len() <= MAX_KEY)?;
            let storage = Storage {
                key: key.to_owned(),
                number: *number,
                len: self.arena.size(*len)?,
            };
            (is_complete && self.arena.text(*kind)? == "storage").then_some(storage)
        };
        let storage = read().ok_or("a reference does not name a storage of numbers")?;
        self.push(Node::Storage(storage))
    }

    /// Replaces a call of a known name with a description of what it would create.
    pub(super) fn call(&mut self) -> Step {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let Node::Known(function) = *self.arena.get(function) else {
            return Err("a call of something that is not a function".into());
        };
        let arguments = self.arena.parts(arguments);
        let arguments = arguments.ok_or("a call without a tuple of arguments")?;
        let node = match (function, arguments) {
            (Known::RebuildTensor, _) => {
                let tensor = rebuild_tensor(&self.arena, arguments)?;
                self.copy(2 * tensor.shape.len())?;
                Node::Tensor(tensor)
            }
            (Known::RebuildParameter, &[tensor, ..]) => self.copy_of(tensor)?,
            (Known::OrderedDict, []) => Node::Dict(Vec::new()),
            (Known::OrderedDict, &[items]) => {
                self.copy(self.arena.parts(items).map_or(0, <[Ref]>::len))?;
                Node::Dict(self.items(items)?)
            }
            (Known::Size, &[sides]) => {
                let sides = self.arena.parts(sides).map(<[Ref]>::to_vec);
                let sides = sides.ok_or("a size without dimensions")?;
                self.copy(sides.len())?;
                Node::Tuple(sides)
            }
            _ => return Err("a call with arguments that do not fit".into()),
        };
        self.push(node)
    }

    /// Returns a copy of a tensor, which a parameter is.
    fn copy_of(&mut self, at: Ref) -> Step<Node> {
        let Node::Tensor(tensor) = self.arena.get(at) else {
            return Err("a parameter that is not a tensor".into());
        };
        let tensor = tensor.clone();
        self.copy(2 * tensor.shape.len())?;
        Ok(Node::Tensor(tensor))
    }

    /// Returns the entries of a dictionary that is given as a list of pairs.
    fn items(&self, list: Ref) -> Step<Vec<(Ref, Ref)>> {
        let items = self.arena.parts(list);
        let items = items.ok_or("a dictionary is not given as a list")?;
        let pairs = items.iter().map(|pair| match self.arena.parts(*pair) {
            Some([key, value]) => Ok((*key, *value)),
            _ => Err("an entry of a dictionary is not a pair".to_owned()),
        });
        pairs.collect()
    }
}

/// Returns the tensor that `_rebuild_tensor_v2` would create from its arguments.
fn rebuild_tensor(arena: &Arena, arguments: &[Ref]) -> Result<TensorView, String> {
    let sizes = |at: Ref| -> Option<Vec<usize>> {
        let parts = arena
            .parts(at)
            .filter(|parts| parts.len() <= MAX_DIMENSIONS)?;
        parts.iter().map(|n| arena.size(*n)).collect()
    };
    let read = || {
        let [storage, offset, shape, strides, ..] = arguments else {
            return None;
        };
        let Node::Storage(storage) = arena.get(*storage) else {
            return None;
        };
        Some(TensorView {
            storage: storage.clone(),
            offset: arena.size(*offset)?,
            shape: sizes(*shape)?,
            strides: sizes(*strides)?,
        })
    };
    let tensor = read().ok_or("a tensor without storage, offset, shape and strides")?;
    tensor.checked()
}
