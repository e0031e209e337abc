/**
 * A system call filter for sandboxed programs. It refuses with `EPERM` calls that programs do not need, calls through which kernels were
 * attacked, and memory that is not counted for any process. Isolation comes from namespaces; the filter reduces the kernel's attack
 * surface.
 *
 * @see linux `Documentation/userspace-api/seccomp_filter.rst`, and the tables of system calls in `arch/x86/entry/syscalls` and
 * `include/uapi/asm-generic/unistd.h`
 */

interface Machine {
  /** The kernel's number for the architecture, `AUDIT_ARCH_*`. */
  readonly audit: number
  /** Calls from this number on belong to another ABI (x32), and are refused. */
  readonly foreign?: number
  readonly refused: Readonly<Record<string, number>>
}

const machines: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    foreign: 0x40000000,
    refused: {
      shmget: 29,
      semget: 64,
      msgget: 68,
      ptrace: 101,
      personality: 135,
      pivot_root: 155,
      chroot: 161,
      acct: 163,
      mount: 165,
      umount2: 166,
      swapon: 167,
      swapoff: 168,
      reboot: 169,
      init_module: 175,
      delete_module: 176,
      quotactl: 179,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      kexec_load: 246,
      unshare: 272,
      perf_event_open: 298,
      open_by_handle_at: 304,
      setns: 308,
      process_vm_readv: 310,
      process_vm_writev: 311,
      finit_module: 313,
      memfd_create: 319,
      kexec_file_load: 320,
      bpf: 321,
      userfaultfd: 323,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      open_tree: 428,
      move_mount: 429,
      fsopen: 430,
      fsconfig: 431,
      fsmount: 432,
      fspick: 433,
      mount_setattr: 442,
      memfd_secret: 447
    }
  },
  arm64: {
    audit: 0xc00000b7,
    refused: {
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      chroot: 51,
      acct: 89,
      personality: 92,
      unshare: 97,
      kexec_load: 104,
      init_module: 105,
      delete_module: 106,
      ptrace: 117,
      reboot: 142,
      msgget: 186,
      semget: 190,
      shmget: 194,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      swapon: 224,
      swapoff: 225,
      perf_event_open: 241,
      open_by_handle_at: 265,
      setns: 268,
      process_vm_readv: 270,
      process_vm_writev: 271,
      finit_module: 273,
      memfd_create: 279,
      bpf: 280,
      userfaultfd: 282,
      kexec_file_load: 294,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      open_tree: 428,
      move_mount: 429,
      fsopen: 430,
      fsconfig: 431,
      fsmount: 432,
      fspick: 433,
      mount_setattr: 442,
      memfd_secret: 447
    }
  }
}

/** One classic BPF instruction: `struct sock_filter`. */
type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number]

const loadWord = 0x20
const jumpIfEqual = 0x15
const jumpIfAtLeast = 0x35
const answer = 0x06

const numberOffset = 0
const machineOffset = 4

const allow = 0x7fff0000
const kill = 0x80000000
const notPermitted = 0x00050001

const instructions = ({ audit, foreign, refused }: Machine): ReadonlyArray<Instruction> => {
  const numbers = Object.values(refused)
  /** Jumps are relative. The refusal comes after all comparisons and the permission. */
  const comparisons = numbers.map((number, index): Instruction => [jumpIfEqual, numbers.length - index, 0, number])
  return [
    [loadWord, 0, 0, machineOffset],
    [jumpIfEqual, 1, 0, audit],
    [answer, 0, 0, kill],
    [loadWord, 0, 0, numberOffset],
    ...(foreign === undefined ? [] : [[jumpIfAtLeast, numbers.length + 1, 0, foreign] as const]),
    ...comparisons,
    [answer, 0, 0, allow],
    [answer, 0, 0, notPermitted]
  ]
}

/** The filter in the format of `bwrap --seccomp`, for a processor as named by Node. Undefined if there is no filter for the processor. */
export const filter = (processor: string): Uint8Array | undefined => {
  const machine = machines[processor]
  if (machine === undefined) return undefined
  const program = instructions(machine)
  const bytes = new DataView(new ArrayBuffer(8 * program.length))
  program.forEach(([code, whenTrue, whenFalse, value], index) => {
    bytes.setUint16(8 * index, code, true)
    bytes.setUint8(8 * index + 2, whenTrue)
    bytes.setUint8(8 * index + 3, whenFalse)
    bytes.setUint32(8 * index + 4, value, true)
  })
  return new Uint8Array(bytes.buffer)
}
