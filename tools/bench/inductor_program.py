"""An ordinary PyTorch program whose kernels Inductor generates; it knows nothing of flagc."""

import torch


@torch.compile
def block(x, weight, bias):
    hidden = torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias)
    return torch.softmax(torch.nn.functional.gelu(hidden), dim=-1) * 2.0 + x


torch.manual_seed(0)
x = torch.randn((512, 1024), device="cuda")
weight, bias = torch.rand(1024, device="cuda"), torch.rand(1024, device="cuda")
hidden = torch.nn.functional.layer_norm(x.double(), (1024,), weight.double(), bias.double())
expected = torch.softmax(torch.nn.functional.gelu(hidden), dim=-1) * 2.0 + x.double()
torch.testing.assert_close(block(x, weight, bias).double(), expected, rtol=1e-4, atol=1e-4)
print("inductor program: ok")
