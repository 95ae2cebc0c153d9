import {describeRefusal, type RunResult} from '../../client/run/run-result.js';

/** Why a machine was left out: the canaries failed, enough others did, or the caller stopped. */
export type SkipReason = 'canary' | 'failures' | 'aborted';

/**
 * Outcome of a command on one machine of many. Only the kernel's exit is one; a machine that cannot be reached, or whose
 * link broke before the exit was known, is lost.
 */
export type MachineOutcome =
	/** `by` tells whether it ended by itself, by a signal, by the time limit or because the caller stopped. */
	| {
			readonly kind: 'exited';
			readonly exitCode: number;
			readonly by: 'exit' | 'signal' | 'timeout' | 'aborted';
			/** False if output was lost with a connection. */
			readonly isComplete: boolean;
	  }
	/** It was not started; the machine said why. */
	| {readonly kind: 'failed'; readonly message: string}
	/** It may run on. */
	| {readonly kind: 'lost'; readonly message: string}
	/** Nothing was asked of the machine. */
	| {readonly kind: 'skipped'; readonly reason: SkipReason};

/** The outcome that a result stands for. */
export function toOutcome({reason, exitCode, error}: RunResult): MachineOutcome {
	if (reason === 'spawn') return {kind: 'failed', message: describeRefusal(error)};
	if (exitCode === undefined) return {kind: 'lost', message: describeLoss(reason, error)};
	if (reason === 'disconnected') return {kind: 'lost', message: describeError(error)};
	const isComplete = reason !== 'incomplete';
	return {kind: 'exited', exitCode, by: reason === 'incomplete' ? 'exit' : reason, isComplete};
}

export function isSuccess(outcome: MachineOutcome): boolean {
	return outcome.kind === 'exited' && outcome.exitCode === 0 && outcome.by === 'exit';
}

/** Whether the command was tried and did not succeed. */
export function isFailure(outcome: MachineOutcome): boolean {
	return outcome.kind !== 'skipped' && !isSuccess(outcome);
}

/** `exit 0`, `signal (exit 137)`, `not started`, `lost`. */
export function describeOutcome(outcome: MachineOutcome): string {
	switch (outcome.kind) {
		case 'exited':
			return describeExit(outcome);
		case 'failed':
			return 'not started';
		case 'lost':
			return 'lost';
		case 'skipped':
			return 'skipped';
	}
}

function describeExit({exitCode, by, isComplete}: Extract<MachineOutcome, {kind: 'exited'}>): string {
	const how = {exit: '', signal: 'signal, ', timeout: 'took too long, ', aborted: 'stopped, '}[by];
	return `${how}exit ${exitCode}${isComplete ? '' : ', output missing'}`;
}

function describeLoss(reason: RunResult['reason'], error: Error | undefined): string {
	if (reason === 'timeout') return 'it took too long, and its end is not known';
	if (reason === 'aborted') return 'it was stopped, and its end is not known';
	return describeError(error);
}

function describeError(error: Error | undefined): string {
	return error?.message ?? 'the reason is not known';
}
