// Linux only: ELF, and system call numbers of x64 and arm64.

interface LauncherCode {
	/** `e_machine` of the ELF header. */
	readonly machine: number;
	readonly instructions: Uint8Array;
}

/**
 * The launcher, per processor. It is called with argv = [one character, file, arguments of the program...]; the code of
 * the character is the descriptor of a socket, and the next descriptor is the launcher's own file:
 *
 *     fcntl(fd, F_SETFD, FD_CLOEXEC); fcntl(fd + 1, F_SETFD, FD_CLOEXEC);
 *     if (read(fd, buffer, 1) == 1) {
 *         result = execve(argv[1], &argv[2], envp);
 *         write(fd, &result, 4);
 *     }
 *     exit_group(127);
 */
export const LAUNCHER_CODE: Partial<Record<NodeJS.Architecture, LauncherCode>> = {
	x64: {
		machine: 62,
		instructions: fromHex(`
			488b442408 440fb628         mov rax,[rsp+8]; movzx r13d,byte [rax]
			4489ef be02000000           mov edi,r13d; mov esi,2
			ba01000000 b848000000 0f05  mov edx,1; mov eax,72; syscall
			418d7d01 b848000000 0f05    lea edi,[r13+1]; mov eax,72; syscall
			4489ef 4883ec10 4889e6      mov edi,r13d; sub rsp,16; mov rsi,rsp
			31c0 0f05                   xor eax,eax; syscall
			4883f801 7530               cmp rax,1; jne exit
			488b7c2420 488d742428       mov rdi,[rsp+32]; lea rsi,[rsp+40]
			488b542410 488d54d420       mov rdx,[rsp+16]; lea rdx,[rsp+rdx*8+32]
			b83b000000 0f05             mov eax,59; syscall
			890424 4489ef 4889e6        mov [rsp],eax; mov edi,r13d; mov rsi,rsp
			ba04000000 b801000000 0f05  mov edx,4; mov eax,1; syscall
			bf7f000000 b8e7000000 0f05  exit: mov edi,127; mov eax,231; syscall`),
	},
	// Assembled by hand after the architecture's manual, and not tried on such a machine.
	arm64: {
		machine: 183,
		instructions: fromHex(`
			f30740f9 73024039           ldr x19,[sp,8]; ldrb w19,[x19]
			e00313aa 410080d2           mov x0,x19; mov x1,2
			220080d2 280380d2 010000d4  mov x2,1; mov x8,25; svc 0
			60060091 010000d4           add x0,x19,1; svc 0
			e00313aa ff4300d1 e1030091  mov x0,x19; sub sp,sp,16; mov x1,sp
			e80780d2 010000d4           mov x8,63; svc 0
			1f0400f1 c1010054           cmp x0,1; b.ne exit
			e01340f9 e1a30091           ldr x0,[sp,32]; add x1,sp,40
			e20b40f9 42100091 e26f228b  ldr x2,[sp,16]; add x2,x2,4; add x2,sp,x2,lsl 3
			a81b80d2 010000d4           mov x8,221; svc 0
			e00300b9 e00313aa e1030091  str w0,[sp]; mov x0,x19; mov x1,sp
			820080d2 080880d2 010000d4  mov x2,4; mov x8,64; svc 0
			e00f80d2 c80b80d2 010000d4  exit: mov x0,127; mov x8,94; svc 0`),
	},
};

const LOAD_ADDRESS = 0x400000n;
const ELF_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const CODE_OFFSET = ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES;
const PAGE_BYTES = 0x10000n;
const READ_AND_EXECUTE = 5;

/** A static executable of one segment. */
export function toExecutable({machine, instructions}: LauncherCode): Uint8Array {
	const file = Buffer.alloc(CODE_OFFSET + instructions.length);
	// 64 bits, little endian, version 1.
	file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
	file.writeUInt16LE(2, 16);
	file.writeUInt16LE(machine, 18);
	file.writeUInt32LE(1, 20);
	file.writeBigUInt64LE(LOAD_ADDRESS + BigInt(CODE_OFFSET), 24);
	file.writeBigUInt64LE(BigInt(ELF_HEADER_BYTES), 32);
	file.writeUInt16LE(ELF_HEADER_BYTES, 52);
	file.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
	file.writeUInt16LE(1, 56);
	file.writeUInt32LE(1, ELF_HEADER_BYTES);
	file.writeUInt32LE(READ_AND_EXECUTE, ELF_HEADER_BYTES + 4);
	file.writeBigUInt64LE(LOAD_ADDRESS, ELF_HEADER_BYTES + 16);
	file.writeBigUInt64LE(LOAD_ADDRESS, ELF_HEADER_BYTES + 24);
	file.writeBigUInt64LE(BigInt(file.length), ELF_HEADER_BYTES + 32);
	file.writeBigUInt64LE(BigInt(file.length), ELF_HEADER_BYTES + 40);
	file.writeBigUInt64LE(PAGE_BYTES, ELF_HEADER_BYTES + 48);
	file.set(instructions, CODE_OFFSET);
	return file;
}

/** Bytes of a listing: the hexadecimal words of each line, up to the first run of two spaces. */
function fromHex(listing: string): Uint8Array {
	const lines = listing.trim().split('\n');
	return Buffer.from(lines.map(line => line.trim().split('  ', 1)[0]!.replaceAll(' ', '')).join(''), 'hex');
}
