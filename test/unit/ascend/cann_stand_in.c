// A stand-in for CANN's libruntime.so: keeps what it was given, so that a test can ask.
#include <stdint.h>
#include <string.h>

struct binary { uint32_t magic, version; const void* data; uint64_t length; };

uint32_t seen_magic, seen_blocks, seen_bytes;
uint64_t seen_length, seen_stream, seen_stub, launched_stub;
char seen_name[128];
unsigned char seen_first_byte, seen_arguments[1024];
int launch_status;

int rtDevBinaryRegister(const struct binary* given, void** handle) {
  seen_magic = given->magic;
  seen_length = given->length;
  seen_first_byte = *(const unsigned char*)given->data;
  *handle = (void*)0x77;
  return 0;
}

int rtFunctionRegister(void* handle, const void* stub, const char* stub_name, const void* name,
                       uint32_t mode) {
  (void)stub_name;
  seen_stub = (uint64_t)stub;
  strncpy(seen_name, name, sizeof seen_name - 1);
  return handle == (void*)0x77 && mode == 0 ? 0 : 1;
}

int rtGetC2cCtrlAddr(uint64_t* address, uint32_t* length) {
  *address = 0xF0F0;
  *length = 64;
  return 0;
}

int rtKernelLaunch(const void* stub, uint32_t blocks, void* arguments, uint32_t bytes, void* shared,
                   void* stream) {
  launched_stub = (uint64_t)stub;
  seen_blocks = blocks;
  seen_bytes = bytes;
  seen_stream = (uint64_t)stream;
  memcpy(seen_arguments, arguments, bytes);
  return shared == 0 ? launch_status : 1;
}
