// RUN: flagc-opt %s --passes drop-assume | filecheck %s

// The comparison and its constant go; the multiplication has another use and stays.
// CHECK-LABEL: @kernel
// CHECK-NOT: llvm.intr.assume
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.constant
// CHECK: %[[PRODUCT:.*]] = arith.muli
// CHECK-NEXT: tt.store %arg0, %[[PRODUCT]]
// CHECK-NEXT: tt.return
tt.func public @kernel(%out: !tt.ptr<i32>, %n: i32, %promised: i1) {
  %zero = arith.constant 0 : i32
  %product = arith.muli %n, %n : i32
  %positive = arith.cmpi sgt, %product, %zero : i32
  %both = arith.andi %positive, %positive : i1
  llvm.intr.assume %both : i1
  llvm.intr.assume %promised : i1
  tt.store %out, %product : !tt.ptr<i32>
  tt.return
}
