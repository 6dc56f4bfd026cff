/* Stands in for libcuda.so.1: records what a launch is given. Compiled with NVIDIA's own header, so
 * the sizes and offsets are those of the real library. */
#include <cuda.h>
#include <string.h>

#define MOST 4096

typedef struct {
  unsigned grid[3], block[3], shared, attributes;
  unsigned attribute_ids[8], attribute_values[8][3];
  unsigned long long stream, function;
  unsigned char parameters[MOST];
} Record;

Record last;
unsigned parameter_bytes[64];
unsigned parameter_count;
int allowed_shared, launches, contexts, failure;
char image[64], name[64];
struct {
  int type, swizzle, fill;
  unsigned rank, box[5];
  unsigned long long address, sizes[5], strides[4], map;
} tensor_map;

CUresult cuInit(unsigned flags) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult status, const char **text) {
  *text = status == CUDA_ERROR_INVALID_VALUE ? "invalid argument" : NULL;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = contexts ? (CUcontext)0x77 : NULL;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) { *device = ordinal; return CUDA_SUCCESS; }
#undef cuDevicePrimaryCtxRetain
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = (CUcontext)0x77;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  contexts += context == (CUcontext)0x77;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *device) { *device = 0; return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  if (attribute != CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN || device != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *value = 232448;
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule *module, const void *data) {
  if (!contexts) return CUDA_ERROR_INVALID_CONTEXT;
  memcpy(image, data, 8);
  *module = (CUmodule)0x1234;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *wanted) {
  if (module != (CUmodule)0x1234) return CUDA_ERROR_INVALID_HANDLE;
  strncpy(name, wanted, sizeof name - 1);
  *function = (CUfunction)0xF00000001ull;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  return config == CU_FUNC_CACHE_PREFER_SHARED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  if (attribute != CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
  *value = 16;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (function != (CUfunction)0xF00000001ull) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) allowed_shared = value;
  else if (attribute != CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra) {
  if (failure) return failure;
  memset(&last, 0, sizeof last);
  last.grid[0] = config->gridDimX, last.grid[1] = config->gridDimY, last.grid[2] = config->gridDimZ;
  last.block[0] = config->blockDimX, last.block[1] = config->blockDimY;
  last.block[2] = config->blockDimZ;
  last.shared = config->sharedMemBytes, last.attributes = config->numAttrs;
  last.stream = (unsigned long long)config->hStream, last.function = (unsigned long long)function;
  for (unsigned i = 0; i < config->numAttrs; i++) {
    last.attribute_ids[i] = config->attrs[i].id;
    memcpy(last.attribute_values[i], &config->attrs[i].value, sizeof last.attribute_values[i]);
  }
  unsigned at = 0;
  for (unsigned i = 0; i < parameter_count; i++) {
    memcpy(last.parameters + at, parameters[i], parameter_bytes[i]);
    at += parameter_bytes[i];
  }
  launches++;
  return CUDA_SUCCESS;
}
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *address, const cuuint64_t *sizes, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return CUDA_ERROR_INVALID_VALUE;
  if (promotion != CU_TENSOR_MAP_L2_PROMOTION_L2_128B) return CUDA_ERROR_INVALID_VALUE;
  if ((unsigned long long)map % 64) return CUDA_ERROR_INVALID_VALUE;
  memset(&tensor_map, 0, sizeof tensor_map);
  tensor_map.type = type, tensor_map.swizzle = swizzle, tensor_map.fill = fill;
  tensor_map.rank = rank, tensor_map.address = (unsigned long long)address;
  tensor_map.map = (unsigned long long)map;
  for (unsigned i = 0; i < rank; i++) {
    if (steps[i] != 1) return CUDA_ERROR_INVALID_VALUE;
    tensor_map.sizes[i] = sizes[i], tensor_map.box[i] = box[i];
    if (i + 1 < rank) tensor_map.strides[i] = strides[i];
  }
  memset(map, 0xAB, sizeof *map);
  return CUDA_SUCCESS;
}
