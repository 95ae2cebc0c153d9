import type {ListedProcess} from '../../client/process/shared-process.js';
import {suggestName} from '../../shared/closest-name.js';

/** There is no such process. */
export class UnknownProcessError extends Error {
	override readonly name = 'UnknownProcessError';
	readonly hint: string;

	constructor(reference: string, environment: string, known: readonly ListedProcess[]) {
		const names = known.flatMap(({processId, name}) => (name ? [name, processId] : [processId]));
		const near = suggestName(reference, names);
		// Behind the mark may be the secret of a link that was cut.
		const [shown] = reference.split('#', 1) as [string];
		super(`no process of the environment ${environment} has the id or name \`${shown}\`${near && `;${near}`}`);
		this.hint = 'See longarm ps -a for all processes, those that have ended included.';
	}
}
