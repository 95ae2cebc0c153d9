import {loadJetStream} from '../../hub/nats/nats-modules.js';
import {KEPT_MS} from '../hub/hub-jobs.js';
import type {JetStreamLink} from './jet-stream-link.js';
import {ensureLeaseStream} from './job-lease.js';
import type {JobSubjects} from './job-subjects.js';

/** A message that is published again within so long is known by its id. */
const DUPLICATE_WINDOW_MS = 600_000;
/** Bytes of all items of a tenant that are in the queue. */
export const MAX_QUEUE_BYTES = 1024 * 1024 * 1024;
/** Bytes of the rows of all jobs of a tenant. */
export const MAX_INPUT_BYTES = 4 * 1024 * 1024 * 1024;
const NANOS_PER_MS = 1_000_000;

/** Creates the streams of a tenant, as far as they are not there. */
export async function ensureJobStreams(link: JetStreamLink, subjects: JobSubjects): Promise<void> {
	const {DiscardPolicy, RetentionPolicy, StorageType} = loadJetStream();
	const onDisk = {storage: StorageType.File, duplicate_window: DUPLICATE_WINDOW_MS * NANOS_PER_MS};
	await Promise.all([
		link.ensureStream({
			...onDisk,
			name: subjects.queueStream,
			subjects: [...subjects.queueSubjects],
			retention: RetentionPolicy.Workqueue,
			discard: DiscardPolicy.New,
			max_bytes: MAX_QUEUE_BYTES,
			// An item is in the queue once, whoever publishes it.
			max_msgs_per_subject: 1,
			discard_new_per_subject: true,
		}),
		link.ensureStream({
			...onDisk,
			name: subjects.resultStream,
			subjects: [...subjects.resultSubjects],
			retention: RetentionPolicy.Limits,
			max_age: KEPT_MS * NANOS_PER_MS,
		}),
		link.ensureStream({
			...onDisk,
			name: subjects.inputStream,
			subjects: [...subjects.inputSubjects],
			retention: RetentionPolicy.Limits,
			max_age: KEPT_MS * NANOS_PER_MS,
			max_bytes: MAX_INPUT_BYTES,
			discard: DiscardPolicy.New,
		}),
		ensureLeaseStream(link),
	]);
}
