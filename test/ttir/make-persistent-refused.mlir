// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes make-persistent{programs=4}
// RUN: flagc-opt %s --split-input-file --passes make-persistent{programs=4} | filecheck %s

// CHECK-NOT: scf.for
// CHECK-NOT: flagc_launch

tt.func public @takes_turns(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
  %true = arith.constant true
  %one = arith.constant 1 : i32
  // expected-remark@+1 {{not applied: programs may wait for one another through this atomic's result}}
  %turn = tt.atomic_rmw add, acq_rel, gpu, %x, %one, %true : (!tt.ptr<i32>, i32, i1) -> i32
  tt.store %out, %turn : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @lock(%x: !tt.ptr<i32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-remark@+1 {{not applied: programs may wait for one another through this atomic's result}}
  %old = tt.atomic_cas acq_rel, gpu, %x, %zero, %one : (!tt.ptr<i32>, i32, i32) -> i32
  tt.return
}

// -----

tt.func public @polls(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
  // expected-remark@+1 {{not applied: programs may wait for one another by this volatile load}}
  %v = tt.load %x {isVolatile = true} : !tt.ptr<i32>
  tt.store %out, %v : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @assembly(%out: !tt.ptr<i32>, %n: i32) {
  // expected-remark@+1 {{not applied: 'tt.elementwise_inline_asm' may depend on which programs run at a time}}
  %v = tt.elementwise_inline_asm "mov.u32 $0, %smid;" {constraints = "=r,r", packed_element = 1 : i32, pure = false} %n : i32 -> i32
  tt.store %out, %v : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @early(%out: !tt.ptr<i32>, %done: i1, %v: i32) {
  // expected-remark@+1 {{not applied: the kernel returns early; structured-early-return makes it one block}}
  cf.cond_br %done, ^end, ^rest
^rest:
  tt.store %out, %v : !tt.ptr<i32>
  cf.br ^end
^end:
  tt.return
}
