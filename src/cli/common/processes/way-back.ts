import type {Environment} from '../../../environments/environment.js';
import {quoteForShell} from '../../../jobs/input/template.js';
import {givenTrust} from '../given-trust.js';
import {nameMember} from '../pool-choice.js';

/** The command that leads back to a process: the words, and the machine and trust that this command has. */
export async function describeWayBack(environment: Environment, [verb, ...words]: readonly string[]): Promise<string> {
	const {caFile, fingerprint} = givenTrust();
	// Without a link the name of a machine that a hub has chosen may not be known.
	const machine = environment.kind === 'local' ? [] : ['-e', await nameMember(environment).catch(() => environment.id)];
	const trust = [
		...(caFile === undefined ? [] : ['--ca-file', caFile]),
		...(fingerprint === undefined ? [] : ['--tls-fingerprint', fingerprint]),
	];
	return ['longarm', verb!, ...machine, ...trust, ...words].map(quoteForShell).join(' ');
}
