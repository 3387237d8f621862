; ModuleID = 'rust.cebe997107dec46e-cgu.0'
source_filename = "rust.cebe997107dec46e-cgu.0"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @wave(ptr noundef captures(none) %x, i32 noundef %n) unnamed_addr #0 {
start:
  %_5 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %_6 = tail call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %_4 = mul i32 %_5, %_6
  %_7 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = add i32 %_4, %_7
  %_8 = icmp slt i32 %i, %n
  br i1 %_8, label %bb4, label %bb7

bb7:                                              ; preds = %bb4, %start
  ret void

bb4:                                              ; preds = %start
  %_12 = sext i32 %i to i64
  %0 = getelementptr float, ptr %x, i64 %_12
  %_14 = load float, ptr %0, align 4, !noundef !2
  %_13 = tail call noundef float @__nv_sinf(float noundef %_14) #2
  store float %_13, ptr %0, align 4
  br label %bb7
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() unnamed_addr #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() unnamed_addr #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() unnamed_addr #1

; Function Attrs: nounwind
declare noundef float @__nv_sinf(float noundef) unnamed_addr #0

attributes #0 = { nounwind "target-cpu"="sm_30" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nounwind }

!llvm.module.flags = !{!0}
!llvm.ident = !{!1}

!0 = !{i32 8, !"PIC Level", i32 2}
!1 = !{!"rustc version 1.95.0 (59807616e 2026-04-14)"}
!2 = !{}
