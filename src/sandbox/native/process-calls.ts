// Linux only.
import type {CallList, Cell} from './call-list.js';
import {O_CLOEXEC, SIGKILL} from './system-calls.js';

const PR_SET_PDEATHSIG = 1;
const PR_SET_NAME = 15;
const DESCRIPTOR_BYTES = 4;

/** A pipe that tells a child whether its parent lives. */
export interface Lifeline {
	readonly readEnd: Cell;
	readonly writeEnd: Cell;
}

/** Adds the calls with which a launcher begins: its name among the processes, and its death with its parent. */
export function addStartCalls(calls: CallList): void {
	calls.attempt('prctl', [PR_SET_NAME, calls.text('longarm-sandbox')]);
	addDeathCalls(calls);
}

export function addLifelineCalls(calls: CallList): Lifeline {
	// The kernel writes both descriptors, four bytes each. Of an argument that is a descriptor it takes no more.
	const pair = calls.cell();
	calls.require('make a pipe', 'pipe2', [pair.cell, O_CLOEXEC]);
	return {readEnd: pair, writeEnd: {cell: pair.cell + DESCRIPTOR_BYTES}};
}

/** Adds the calls with which a child begins: it dies with its parent, also if that was gone before it asked to. */
export function addChildCalls(calls: CallList, {readEnd, writeEnd}: Lifeline): void {
	const goOn = calls.target();
	addDeathCalls(calls);
	calls.attempt('close', [writeEnd]);
	calls.require('hear of the parent', 'read', [readEnd, calls.cell().cell, 1], {jump: goOn});
	calls.attempt('exit_group', [1]);
	calls.place(goOn);
	calls.attempt('close', [readEnd]);
}

/** Adds the call with which a parent lets its child go on. */
export function addReleaseCalls(calls: CallList, {writeEnd}: Lifeline): void {
	calls.attempt('write', [writeEnd, calls.text('x'), 1]);
}

/** Adds the calls that wait for a child. The streams belong to the command alone, so that they end with it. */
export function addWaitCalls(calls: CallList, child: Cell): Cell {
	const exitCode = calls.cell();
	for (const stream of [0, 1, 2]) calls.attempt('close', [stream]);
	calls.wait(child, exitCode);
	return exitCode;
}

function addDeathCalls(calls: CallList): void {
	calls.require('die with the parent', 'prctl', [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0]);
}
