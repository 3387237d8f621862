; two kernels of one file: typed pointers in the one, opaque pointers in the other.
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare float @__nv_sinf(float)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() readnone
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() readnone
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() readnone

define void @wave(float* %x, i32 %n) {
entry:
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = mul i32 %block, %width
  %i = add i32 %start, %thread
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %work, label %done
work:
  %wide = sext i32 %i to i64
  %place = getelementptr float, float* %x, i64 %wide
  %old = load float, float* %place, align 4
  %new = call float @__nv_sinf(float %old)
  store float %new, float* %place, align 4
  br label %done
done:
  ret void
}

define void @stop(ptr %x, i32 %n) {
  ret void
}

!nvvm.annotations = !{!0, !2}
!0 = !{void (float*, i32)* @wave, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
!2 = !{ptr @stop, !"kernel", i32 1}
