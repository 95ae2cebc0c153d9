import type {VNode} from 'preact';
import {useMemo, useState} from 'preact/hooks';
import type {ItemStatus} from '../../jobs/store/item-table.js';
import type {JobFollower, JobView} from './job-follower.js';
import {Badge, type Tone} from './page-parts.js';
import {toDurationText, toErrorText, toShown} from './shown-text.js';

/** Rows that are shown at once, of all items. */
export const MAX_SHOWN_ITEMS = 200;
const STATUSES: readonly ItemStatus[] = ['failed', 'running', 'completed', 'pending'];
const TONES: Readonly<Record<ItemStatus, Tone>> = {failed: 'bad', running: 'busy', completed: 'good', pending: 'plain'};
const SECOND_MS = 1000;

export function JobFigures({view}: {view: JobView}): VNode {
	const {counts, job, startedAt, lastAt, status, error, isCurrent} = view;
	const done = counts.completed + counts.failed;
	const elapsed = startedAt === undefined ? 0 : lastAt - startedAt;
	const perSecond = elapsed > 0 ? (done * SECOND_MS) / elapsed : 0;
	const left = status === 'running' && perSecond > 0 ? ((job.totalItems - done) / perSecond) * SECOND_MS : undefined;
	return (
		<>
			<dl>
				<Figure name="Done" value={`${done} of ${job.totalItems}`} />
				<Figure name="Failed" value={String(counts.failed)} />
				<Figure name="Running" value={String(counts.running)} />
				<Figure name="Waiting" value={String(counts.pending)} />
				<Figure name="Per second" value={perSecond.toFixed(1)} />
				<Figure name="Time" value={toDurationText(elapsed)} />
				{left !== undefined && <Figure name="Left" value={`about ${toDurationText(left)}`} />}
			</dl>
			{error !== undefined && <p class="problem">{toShown(error)}</p>}
			{!isCurrent && <p class="dim">Reading the journal…</p>}
		</>
	);
}

function Figure({name, value}: {name: string; value: string}): VNode {
	return (
		<div>
			<dt>{name}</dt>
			<dd>{value}</dd>
		</div>
	);
}

/** Failures first. The list is made once per look at the job, however many items were done in between. */
export function JobItems({follower, view}: {follower: JobFollower; view: JobView}): VNode {
	const [chosen, setChosen] = useState<ItemStatus | undefined>();
	const [log, setLog] = useState<{readonly item: number; readonly text: string} | undefined>();
	const rows = useMemo(() => selectItems(follower, chosen), [follower, view.version, chosen]);
	const total = chosen === undefined ? view.job.totalItems : view.counts[chosen];
	const open = async (item: number): Promise<void> => {
		setLog({item, text: 'reading…'});
		setLog({item, text: await follower.readLog(item).catch(toErrorText)});
	};
	return (
		<>
			<div class="view-head">
				<h2>Items</h2>
				<div class="tools" role="group" aria-label="Show">
					{STATUSES.map(status => (
						<button
							type="button"
							key={status}
							aria-pressed={chosen === status}
							onClick={() => setChosen(chosen === status ? undefined : status)}
						>
							{status} {view.counts[status]}
						</button>
					))}
				</div>
			</div>
			{log && (
				<pre class="output" tabIndex={0} role="region" aria-label={`Output of ${toShown(follower.idOf(log.item))}`}>
					{log.text}
				</pre>
			)}
			<div class="table items" role="table" aria-label="Items">
				<div class="row head" role="row">
					<span role="columnheader">State</span>
					<span role="columnheader">Item</span>
					<span role="columnheader">Machine</span>
					<span role="columnheader">Time</span>
				</div>
				{rows.map(({item, status}) => {
					const outcome = follower.outcomes.get(item);
					return (
						<div class="row" role="row" key={item}>
							<span role="cell">
								<Badge tone={TONES[status]}>{status}</Badge>
							</span>
							<span role="cell" class="what">
								<button type="button" onClick={() => void open(item)}>
									{toShown(follower.idOf(item))}
								</button>
								<code>{outcome && toShown(outcome.text)}</code>
							</span>
							<span role="cell" class="text dim">
								{outcome && toShown(outcome.executor)}
							</span>
							<span role="cell" class="number">
								{outcome && `${(outcome.ms / SECOND_MS).toFixed(1)} s`}
							</span>
						</div>
					);
				})}
			</div>
			{total > rows.length && <p class="notices dim">{total - rows.length} more are not shown.</p>}
		</>
	);
}

function selectItems(
	follower: JobFollower,
	chosen: ItemStatus | undefined,
): {readonly item: number; readonly status: ItemStatus}[] {
	const rows: {item: number; status: ItemStatus}[] = [];
	for (const status of chosen === undefined ? STATUSES : [chosen]) {
		for (const item of follower.itemsIn(status, MAX_SHOWN_ITEMS - rows.length)) rows.push({item, status});
	}
	return rows;
}
