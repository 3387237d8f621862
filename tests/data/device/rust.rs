//! Kernels in Rust, without its standard library: `core` for GPUs comes with nightly toolchains alone.
//!
//! The text of rust.ll is what this makes of it (any rustc of late, here 1.95 with LLVM 22.1):
//!
//!     RUSTC_BOOTSTRAP=1 rustc --target nvptx64-nvidia-cuda --emit=llvm-ir -O -C codegen-units=1 rust.rs -o rust.ll

#![feature(auto_traits, no_core, lang_items, intrinsics, abi_ptx, rustc_attrs, link_llvm_intrinsics)]
#![allow(internal_features, incomplete_features)]
#![no_core]
#![crate_type = "rlib"]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
impl Copy for u32 {}
impl Copy for i32 {}
impl Copy for f32 {}
impl<T> Copy for *mut T {}
#[lang = "legacy_receiver"]
pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}
#[lang = "freeze"]
pub unsafe auto trait Freeze {}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    fn thread() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    fn block() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    fn width() -> i32;
    #[link_name = "__nv_sinf"]
    fn sine(x: f32) -> f32;
}

#[rustc_intrinsic]
pub const unsafe fn arith_offset<T>(pointer: *const T, offset: isize) -> *const T;

#[lang = "add"]
pub trait Add<Rhs = Self> {
    type Output;
    fn add(self, rhs: Rhs) -> Self::Output;
}
impl Add for i32 {
    type Output = i32;
    fn add(self, rhs: i32) -> i32 {
        self + rhs
    }
}
#[lang = "mul"]
pub trait Mul<Rhs = Self> {
    type Output;
    fn mul(self, rhs: Rhs) -> Self::Output;
}
impl Mul for i32 {
    type Output = i32;
    fn mul(self, rhs: i32) -> i32 {
        self * rhs
    }
}
#[lang = "partial_ord"]
pub trait PartialOrd<Rhs: PointeeSized = Self>: PointeeSized {
    fn lt(&self, other: &Rhs) -> bool;
}
impl PartialOrd for i32 {
    fn lt(&self, other: &i32) -> bool {
        *self < *other
    }
}

/// x[i] = sin(x[i]) for i below n.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn wave(x: *mut f32, n: i32) {
    unsafe {
        let i = block() * width() + thread();
        if i < n {
            let place = arith_offset(x as *const f32, i as isize) as *mut f32;
            *place = sine(*place);
        }
    }
}
