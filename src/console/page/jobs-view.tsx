import type {VNode} from 'preact';
import {useEffect, useMemo, useState} from 'preact/hooks';
import {toPathUri} from '../../client/paths.js';
import {JobFollower, type JobView} from './job-follower.js';
import {JobFigures, JobItems} from './job-parts.js';
import type {MachineLink} from './machine-link.js';
import {Badge, Empty, type Tone} from './page-parts.js';
import {hrefOf} from './route.js';
import {childOf} from './shown-paths.js';
import {toErrorText, toShown} from './shown-text.js';

/** Jobs whose progress is looked at; of older ones only the name is shown. */
const MAX_SHOWN_JOBS = 30;
const JOB_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SHORT_ID = 8;

/** Jobs of `longarm fanout`, or one of them. */
export function JobsView({link, rest}: {link: MachineLink; rest: string}): VNode {
	const [directory, setDirectory] = useState<string | undefined>();
	useEffect(() => {
		void findJobs(link).then(setDirectory);
	}, [link]);
	if (directory === undefined) return <div class="empty" aria-busy="true" />;
	if (JOB_ID.test(rest)) return <OneJob key={rest} link={link} directory={childOf(directory, rest)} />;
	return <JobList link={link} directory={directory} changeTo={setDirectory} />;
}

/** Where the runner keeps its jobs, unless it was told otherwise. */
async function findJobs(link: MachineLink): Promise<string> {
	const known = localStorage.getItem(`longarm-jobs-${link.key}`);
	if (known !== null) return known;
	const {info} = await (await link.client()).describe();
	const home = info?.userHomeDir ?? 'file:///root';
	return ['.local', 'state', 'longarm', 'fanout'].reduce(childOf, home);
}

interface JobListProps {
	readonly link: MachineLink;
	readonly directory: string;
	readonly changeTo: (directory: string) => void;
}

function JobList({link, directory, changeTo}: JobListProps): VNode {
	const [jobs, setJobs] = useState<readonly string[] | undefined>();
	const [problem, setProblem] = useState<string | undefined>();
	useEffect(() => {
		setProblem(undefined);
		listJobs(link, directory).then(setJobs, (error: unknown) => setProblem(toErrorText(error)));
	}, [link, directory]);
	return (
		<>
			<div class="view-head">
				<h1>Jobs</h1>
				<span class="grow" />
				<JobDirectory link={link} directory={directory} changeTo={changeTo} />
			</div>
			{problem !== undefined && (
				<p class="problem" role="alert">
					{problem}
				</p>
			)}
			{jobs?.length === 0 && (
				<Empty title="No jobs here">
					<code>longarm fanout rows.csv --cmd …</code> begins one.
				</Empty>
			)}
			{jobs && jobs.length > 0 && (
				<div class="table jobs" role="table" aria-label="Jobs">
					<div class="row head" role="row">
						<span role="columnheader">Input</span>
						<span role="columnheader">State</span>
						<span role="columnheader">Progress</span>
						<span role="columnheader">Items</span>
					</div>
					{jobs.slice(0, MAX_SHOWN_JOBS).map(id => (
						<JobRow key={id} link={link} id={id} directory={childOf(directory, id)} />
					))}
				</div>
			)}
		</>
	);
}

/** The latest first. */
async function listJobs(link: MachineLink, directory: string): Promise<string[]> {
	if (!(await link.files.exists(directory))) return [];
	const found: {id: string; at: number}[] = [];
	for await (const entry of link.files.list(directory, {depth: 1})) {
		if (entry.kind === 'directory' && JOB_ID.test(entry.name)) found.push({id: entry.name, at: entry.modifiedAtMs});
	}
	return found.sort((one, other) => other.at - one.at).map(({id}) => id);
}

function JobDirectory({link, directory, changeTo}: JobListProps): VNode {
	const choose = (text: string): void => {
		if (!text.startsWith('/') && !text.startsWith('file:')) return;
		const {href} = toPathUri(text);
		localStorage.setItem(`longarm-jobs-${link.key}`, href);
		changeTo(href);
	};
	return (
		<label class="check">
			Directory
			<input
				class="filter mono"
				value={decodeURIComponent(directory.replace(/^file:\/\//, ''))}
				onChange={event => choose(event.currentTarget.value)}
			/>
		</label>
	);
}

function JobRow({link, id, directory}: {link: MachineLink; id: string; directory: string}): VNode {
	const follower = useFollower(link, directory);
	const state = follower.state.value;
	const href = hrefOf({kind: 'view', machine: link.key, view: 'jobs', rest: id});
	const view = state.kind === 'shown' ? state.view : undefined;
	const input = view?.job.inputPath.replace(/^.*\//, '') ?? '';
	return (
		<div class="row" role="row">
			<span role="cell" class="what">
				<a href={href}>{toShown(input) || id.slice(0, SHORT_ID)}</a>
				<code>{id.slice(0, SHORT_ID)}</code>
			</span>
			<span role="cell">{view && <StatusBadge view={view} />}</span>
			<span role="cell">{view && <ProgressLine counts={view.counts} total={view.job.totalItems} />}</span>
			<span role="cell" class="number">
				{view ? view.job.totalItems : ''}
			</span>
		</div>
	);
}

function OneJob({link, directory}: {link: MachineLink; directory: string}): VNode {
	const follower = useFollower(link, directory);
	const state = follower.state.value;
	if (state.kind === 'failed') return <p class="problem">{state.reason}</p>;
	if (state.kind === 'loading') return <div class="empty" aria-busy="true" />;
	const {view} = state;
	return (
		<>
			<div class="view-head">
				<a class="back" href={hrefOf({kind: 'view', machine: link.key, view: 'jobs', rest: ''})} aria-label="All jobs">
					‹
				</a>
				<div class="what">
					<h1>{toShown(view.job.inputPath.replace(/^.*\//, ''))}</h1>
					<code>{view.job.jobId}</code>
				</div>
				<StatusBadge view={view} />
			</div>
			<section class="card job-figures" aria-label="Progress">
				<ProgressLine counts={view.counts} total={view.job.totalItems} />
				<JobFigures view={view} />
			</section>
			<JobItems follower={follower} view={view} />
		</>
	);
}

function useFollower(link: MachineLink, directory: string): JobFollower {
	const follower = useMemo(() => new JobFollower(link.files, directory), [link, directory]);
	useEffect(() => {
		void follower.follow();
		return () => follower.close();
	}, [follower]);
	return follower;
}

const TONES: Readonly<Record<string, Tone>> = {running: 'busy', completed: 'good', failed: 'bad', cancelled: 'warn'};

/** The status of a job; a job that has finished with failed items is shown as failed. */
function StatusBadge({view: {status, counts}}: {view: JobView}): VNode {
	if (status === 'completed' && counts.failed > 0) return <Badge tone="bad">{counts.failed} failed</Badge>;
	return <Badge tone={TONES[status] ?? 'plain'}>{status}</Badge>;
}

function ProgressLine({counts, total}: {counts: Readonly<Record<string, number>>; total: number}): VNode {
	const done = (counts['completed'] ?? 0) + (counts['failed'] ?? 0);
	const share = (name: string): string => `${total === 0 ? 0 : (100 * (counts[name] ?? 0)) / total}%`;
	return (
		<div
			class="progress"
			role="progressbar"
			aria-label="Items done"
			aria-valuemin={0}
			aria-valuemax={total}
			aria-valuenow={done}
		>
			<span class="failed" style={{width: share('failed')}} />
			<span class="completed" style={{width: share('completed')}} />
			<span class="running" style={{width: share('running')}} />
		</div>
	);
}
