import {type WaitCondition, WaitError, type WaitResult} from '../../../client/run/wait-for.js';
import type {GivenProcess} from '../../../environments/processes/find-process.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {type ProcessPlace, withProcess} from '../../common/processes/open-process.js';
import {parseRegex, parseWholeNumber} from '../../common/processes/option-values.js';
import {parseTimeOption} from '../../common/times.js';
import {EXIT, usageError} from '../../exit-codes.js';

export interface WaitRequest extends ProcessPlace {
	readonly exit: boolean;
	readonly text: string | undefined;
	readonly port: string | undefined;
	readonly silence: string | undefined;
	readonly input: boolean;
	readonly timeout: string | undefined;
	readonly json: boolean;
}

const MAX_PORT = 65_535;

/** Waits for something a process does; settles with the exit code of the process if it is that. */
export function wait(id: string, request: WaitRequest): Promise<number> {
	const condition = toCondition(request);
	const timeout = parseTimeOption('--timeout', request.timeout);
	return withProcess(id, request, async process => {
		using interruption = new Interruption();
		try {
			return await waitAndReport(process, condition, {timeout, signal: interruption.signal, json: request.json});
		} catch (error) {
			if (error instanceof InterruptedError) return error.exitCode;
			throw error;
		}
	});
}

function toCondition({exit, text, port, silence, input}: WaitRequest): WaitCondition {
	const isAnother = text !== undefined || port !== undefined || silence !== undefined || input;
	return {
		...((exit || !isAnother) && {exit: true}),
		...(text !== undefined && {pattern: parseRegex('--text', text)}),
		...(port !== undefined && {port: parsePort(port)}),
		...(silence !== undefined && {silence: parseTimeOption('--silence', silence)}),
		...(input && {input}),
	};
}

function parsePort(text: string): number {
	const port = parseWholeNumber('--port', text, MAX_PORT);
	if (port === 0) throw usageError(`--port ${text}: expected a port from 1 to ${MAX_PORT}`);
	return port;
}

interface Waiting {
	readonly timeout: number | undefined;
	readonly signal: AbortSignal;
	readonly json: boolean;
}

async function waitAndReport(
	{environment, reference}: GivenProcess,
	condition: WaitCondition,
	{timeout, signal, json}: Waiting,
): Promise<number> {
	try {
		const process = await environment.processes.reference(reference);
		const result = await process.waitFor(condition, {timeout, signal});
		if (json) writeJson(toWaitObject(result));
		else writeLines([describeResult(result)]);
		return result.by === 'exit' ? result.exit.exitCode : EXIT.ok;
	} catch (error) {
		if (!(error instanceof WaitError)) throw error;
		if (json) writeJson({by: error.reason, error: error.message});
		else writeMessage(`error: ${error.message}`);
		return error.reason === 'timeout' ? EXIT.timedOut : EXIT.notRun;
	}
}

function describeResult(result: WaitResult): string {
	switch (result.by) {
		case 'exit':
			return `ended with code ${result.exit.exitCode}`;
		case 'pattern':
			return `text: ${result.match[0]}`;
		case 'port':
			return `listens on port ${result.port}`;
		case 'silence':
			return 'silent';
		case 'input':
			return `waits for ${result.waitingFor === 'password' ? 'a password' : 'input'}${result.isGuess ? ' (a guess)' : ''}`;
	}
}

function toWaitObject(result: WaitResult): object {
	switch (result.by) {
		case 'exit':
			return {by: 'exit', exitCode: result.exit.exitCode, reason: result.exit.reason ?? 'exit'};
		case 'pattern': {
			const [match, ...groups] = result.match;
			return {by: 'text', match, groups: groups.map(group => group ?? null)};
		}
		case 'port':
			return {by: 'port', port: result.port};
		case 'silence':
			return {by: 'silence'};
		case 'input':
			return {by: 'input', waitingFor: result.waitingFor, isGuess: result.isGuess};
	}
}
