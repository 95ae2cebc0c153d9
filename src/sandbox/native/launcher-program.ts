// Linux only: ELF, and machine code of x64.
import {constants} from 'node:os';
import {osErrorText} from '../../shared/node/os-error.js';
import {unenforceableError} from '../plan.js';

/** Machine of the ELF header (`e_machine`) and instructions, per processor. */
interface CallPlayer {
	readonly machine: number;
	readonly instructions: Uint8Array;
}

/** Addresses of the three segments: instructions, the table of calls, and the memory the calls work on. */
const CODE_ADDRESS = 0x40_0000;
const TABLE_ADDRESS = 0x1000_0000;
export const MEMORY_ADDRESS = 0x2000_0000;
/** Before the calls stand the texts of errors: a row (address, length) for each errno, then the texts. */
const ERROR_ROWS = 256;
const ERROR_ROW_BYTES = 16;
export const FIRST_CALL_OFFSET = 0x4000;
export const CALL_ADDRESS = TABLE_ADDRESS + FIRST_CALL_OFFSET;
export const CALL_BYTES = 96;
/** Number of a call that is none: it waits for the child named by the first argument and stores its exit code. */
export const WAIT_FOR_CHILD = -1;
/** The same: ends all children, listed in the file of the first argument, by way of a buffer and its length. */
export const END_CHILDREN = -2;

/**
 * A program that makes the system calls of a table, one after the other. It has no data and makes no decisions of its own:
 *
 *     struct call { long number, argument[6], references; long *result; struct call *jump; char *label; long length; };
 *     for (call = FIRST_CALL;; call++) {
 *         value[i] = call->references & 1 << i ? *(long *) call->argument[i] : call->argument[i];
 *         if (call->number == -2) {
 *             while ((file = open(value[0], O_RDONLY)) >= 0) {
 *                 length = read(file, value[1], value[2]); close(file);
 *                 if (length <= 0) break;
 *                 for (each number in the buffer that ends with a space) kill(number, SIGKILL);
 *                 wait4(-1, 0, 0, 0);
 *             }
 *             continue;
 *         }
 *         if (call->number == -1) {
 *             do pid = wait4(-1, &status, 0, 0); while (pid == -EINTR || (pid >= 0 && pid != value[0]));
 *             *call->result = pid < 0 ? 255 : status & 127 ? 128 + (status & 127) : status >> 8;
 *             continue;
 *         }
 *         *call->result = result = syscall(call->number, value...);
 *         if (result > 0 && call->jump) call = call->jump - 1;
 *         if (result < 0 && call->length) {
 *             write(2, call->label, call->length);
 *             write(2, ERRORS[-result].text, ERRORS[-result].length);
 *             exit_group(1);
 *         }
 *     }
 */
const CALL_PLAYERS: Partial<Record<NodeJS.Architecture, CallPlayer>> = {
	x64: {
		machine: 62,
		instructions: fromHex(`
			4883ec40 bb00400010               sub rsp,64; mov ebx,CALLS
			bd05000000                        next: mov ebp,5
			488b44eb08 0fa36b38               argument: mov rax,[rbx+rbp*8+8]; bt [rbx+56],ebp
			7303 488b00                       jnc direct; mov rax,[rax]
			488904ec ffcd 79ea                direct: mov [rsp+rbp*8],rax; dec ebp; jns argument
			488b03 4885c0 0f8891000000        mov rax,[rbx]; test rax,rax; js special
			488b3c24 488b742408 488b542410    mov rdi,[rsp]; mov rsi,[rsp+8]; mov rdx,[rsp+16]
			4c8b542418 4c8b442420 4c8b4c2428  mov r10,[rsp+24]; mov r8,[rsp+32]; mov r9,[rsp+40]
			0f05 488b4b40 488901              syscall; mov rcx,[rbx+64]; mov [rcx],rax
			4885c0 7816 740e                  test rax,rax; js failed; je advance
			488b4b48 4885c9 7405              mov rcx,[rbx+72]; test rcx,rcx; je advance
			4889cb eb9e                       mov rbx,rcx; jmp next
			4883c360 eb98                     advance: add rbx,96; jmp next
			488b5358 4885d2 74f1              failed: mov rdx,[rbx+88]; test rdx,rdx; je advance
			48f7d8 3dff000000 7602 31c0       neg rax; cmp eax,255; jbe known; xor eax,eax
			89c5 c1e504                       known: mov ebp,eax; shl ebp,4
			488b7350 bf02000000               mov rsi,[rbx+80]; mov edi,2
			b801000000 0f05                   mov eax,1; syscall
			488bb500000010 488b9508000010     mov rsi,[rbp+ERRORS]; mov rdx,[rbp+ERRORS+8]
			bf02000000 b801000000 0f05        mov edi,2; mov eax,1; syscall
			bf01000000 b8e7000000 0f05        mov edi,1; mov eax,231; syscall
			48ffc0 754f                       special: inc rax; jne kill
			48c7c7ffffffff 488d742430         wait: mov rdi,-1; lea rsi,[rsp+48]
			31d2 4531d2 b83d000000 0f05       xor edx,edx; xor r10d,r10d; mov eax,61; syscall
			4883f8fc 74e2                     cmp rax,-4; je wait
			4885c0 bfff000000 781b            test rax,rax; mov edi,255; js waited
			3b0424 75d3                       cmp eax,[rsp]; jne wait
			8b7c2430 89f8 83e07f 7408         mov edi,[rsp+48]; mov eax,edi; and eax,127; je exited
			8db880000000 eb03                 lea edi,[rax+128]; jmp waited
			c1ef08                            exited: shr edi,8
			488b4b40 488939 e956ffffff        waited: mov rcx,[rbx+64]; mov [rcx],rdi; jmp advance
			488b3c24 31f6 b802000000 0f05     kill: mov rdi,[rsp]; xor esi,esi; mov eax,2; syscall
			85c0 0f8841ffffff 89c5 89c7       test eax,eax; js advance; mov ebp,eax; mov edi,eax
			488b742408 488b542410 31c0 0f05   mov rsi,[rsp+8]; mov rdx,[rsp+16]; xor eax,eax; syscall
			4989c4 89ef b803000000 0f05       mov r12,rax; mov edi,ebp; mov eax,3; syscall
			4d85e4 0f8e1affffff               test r12,r12; jle advance
			488b6c2408 4901ec                 mov rbp,[rsp+8]; add r12,rbp
			31ff                              pid: xor edi,edi
			0fb64500 48ffc5 83e830 720c       digit: movzx eax,byte [rbp]; inc rbp; sub eax,48; jb end
			6bff0a 01c7 4c39e5 72ea eb11      imul edi,edi,10; add edi,eax; cmp rbp,r12; jb digit; jmp reap
			be09000000 b83e000000 0f05        end: mov esi,9; mov eax,62; syscall
			4c39e5 72d5                       cmp rbp,r12; jb pid
			48c7c7ffffffff 31f6 31d2          reap: mov rdi,-1; xor esi,esi; xor edx,edx
			4531d2 b83d000000 0f05 e977ffffff  xor r10d,r10d; mov eax,61; syscall; jmp kill`),
	},
};

const ELF_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const SEGMENTS = 3;
const PAGE_BYTES = 0x1000;
const [READ, READ_AND_WRITE, READ_AND_EXECUTE] = [4, 6, 5];

export function hasLauncher(arch: NodeJS.Architecture = process.arch): boolean {
	return CALL_PLAYERS[arch] !== undefined;
}

/** A static executable that makes these calls, which were laid out for `CALL_ADDRESS`, on this memory. */
export function createLauncher(calls: Uint8Array, memory: Uint8Array): Uint8Array {
	const player = CALL_PLAYERS[process.arch];
	if (!player) throw unenforceableError(`it has no launcher for ${process.arch}`);
	const table = Buffer.concat([describeErrors(), calls]);
	const codeOffset = ELF_HEADER_BYTES + SEGMENTS * PROGRAM_HEADER_BYTES;
	const tableOffset = alignToPage(codeOffset + player.instructions.length);
	const memoryOffset = alignToPage(tableOffset + table.length);
	const file = Buffer.alloc(memoryOffset + memory.length);
	writeElfHeader(file, player.machine, CODE_ADDRESS + codeOffset);
	const code = {offset: 0, length: codeOffset + player.instructions.length, address: CODE_ADDRESS};
	writeSegment(file, 0, {...code, access: READ_AND_EXECUTE});
	writeSegment(file, 1, {offset: tableOffset, length: table.length, address: TABLE_ADDRESS, access: READ});
	const rest = {offset: memoryOffset, length: memory.length, address: MEMORY_ADDRESS};
	writeSegment(file, 2, {...rest, access: READ_AND_WRITE});
	file.set(player.instructions, codeOffset);
	file.set(table, tableOffset);
	file.set(memory, memoryOffset);
	return file;
}

function writeElfHeader(file: Buffer, machine: number, entry: number): void {
	// 64 bits, little endian, version 1.
	file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
	file.writeUInt16LE(2, 16);
	file.writeUInt16LE(machine, 18);
	file.writeUInt32LE(1, 20);
	file.writeBigUInt64LE(BigInt(entry), 24);
	file.writeBigUInt64LE(BigInt(ELF_HEADER_BYTES), 32);
	file.writeUInt16LE(ELF_HEADER_BYTES, 52);
	file.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
	file.writeUInt16LE(SEGMENTS, 56);
}

interface Segment {
	readonly offset: number;
	readonly length: number;
	readonly address: number;
	readonly access: number;
}

function writeSegment(file: Buffer, index: number, {offset, length, address, access}: Segment): void {
	const at = ELF_HEADER_BYTES + index * PROGRAM_HEADER_BYTES;
	file.writeUInt32LE(1, at);
	file.writeUInt32LE(access, at + 4);
	for (const [position, value] of [offset, address, address, length, length, PAGE_BYTES].entries()) {
		file.writeBigUInt64LE(BigInt(value), at + 8 + 8 * position);
	}
}

function alignToPage(offset: number): number {
	return Math.ceil(offset / PAGE_BYTES) * PAGE_BYTES;
}

let errorTexts: Buffer | undefined;

/** The beginning of the table: a text for every errno, the same for every launcher. */
function describeErrors(): Buffer {
	if (errorTexts) return errorTexts;
	const bytes = Buffer.alloc(FIRST_CALL_OFFSET);
	const known = new Set(Object.values(constants.errno));
	let end = ERROR_ROWS * ERROR_ROW_BYTES;
	const addText = (text: string): {address: number; length: number} => {
		const length = bytes.write(text, end);
		const place = {address: TABLE_ADDRESS + end, length};
		end += length;
		return place;
	};
	const unknown = addText('unknown error\n');
	for (let errno = 0; errno < ERROR_ROWS; errno++) {
		const {address, length} = known.has(errno) ? addText(`${osErrorText(errno)}\n`) : unknown;
		bytes.writeBigUInt64LE(BigInt(address), errno * ERROR_ROW_BYTES);
		bytes.writeBigUInt64LE(BigInt(length), errno * ERROR_ROW_BYTES + 8);
	}
	errorTexts = bytes;
	return bytes;
}

/** Bytes of a listing: the hexadecimal words of each line, up to the first run of two spaces. */
function fromHex(listing: string): Uint8Array {
	const lines = listing.trim().split('\n');
	return Buffer.from(lines.map(line => line.trim().split('  ', 1)[0]!.replaceAll(' ', '')).join(''), 'hex');
}
