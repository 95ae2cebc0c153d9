import type {ProcessStore} from '../../processes/spill/process-store.js';
import type {StoredProcess} from '../../processes/spill/stored-process.js';
import type {HeldProcess} from './keeper-methods.js';

/** Processes of a keeper that does not answer, as their files describe them: they run, and have to be seen. */
export function listHeldOnDisk(store: ProcessStore, generation: string): HeldProcess[] {
	return store
		.list({isInUse: () => true})
		.filter(({meta, exit}) => meta.keeper === generation && meta.pid !== undefined && !exit)
		.map(toHeld);
}

function toHeld({id, meta, directory}: StoredProcess): HeldProcess {
	const {name = null, labels, share, rows = null, cols = null, tty, argv, startedAtMs} = meta;
	return {
		processId: id,
		owner: meta.owner ?? null,
		directory,
		pid: meta.pid!,
		argv,
		tty,
		rows,
		cols,
		streams: tty ? ['pty'] : ['stdout', 'stderr'],
		// Whether there is any is known to the keeper only, which gets the input as soon as it answers.
		takesInput: true,
		startedAtMs,
		ageMs: Math.max(0, Date.now() - startedAtMs),
		// In doubt it is confined, and no client of this server.
		sandbox: 'sandboxedWithNetwork',
		sharing: {name, labels, ...share},
	};
}
