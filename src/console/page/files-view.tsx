import type {VNode} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {readShownDirectory, type ShownDirectory} from './directory-state.js';
import {FilePanel} from './file-panel.js';
import type {MachineLink} from './machine-link.js';
import {Icon} from './page-parts.js';
import {goTo, hrefOf} from './route.js';
import {childOf, crumbsOf, nameOf, parentOf} from './shown-paths.js';
import {toErrorText, toSizeText} from './shown-text.js';

/** The files of a machine: a directory on one side, a file of it on the other. */
export function FilesView({link, rest}: {link: MachineLink; rest: string}): VNode {
	const [place, setPlace] = useState<{readonly directory: string; readonly file: string | undefined} | undefined>();
	const [problem, setProblem] = useState<string | undefined>();
	useEffect(() => {
		setProblem(undefined);
		findPlace(link, rest).then(setPlace, (error: unknown) => setProblem(toErrorText(error)));
	}, [link, rest]);
	const toHref = (path: string): string => hrefOf({kind: 'view', machine: link.key, view: 'files', rest: path});
	return (
		<>
			<div class="view-head">
				<h1>Files</h1>
				<span class="grow" />
				{place && <Upload link={link} directory={place.directory} failed={setProblem} />}
			</div>
			{place && (
				<nav class="crumbs" aria-label="Path">
					{crumbsOf(place.directory).map(({shown, href}, index) => (
						<span key={href}>
							<a href={toHref(href)}>{shown}</a>
							{index > 0 && '/'}
						</span>
					))}
				</nav>
			)}
			{problem !== undefined && (
				<p class="problem" role="alert">
					{problem}
				</p>
			)}
			{place && (
				<div class="split">
					<Directory key={place.directory} link={link} directory={place.directory} file={place.file} toHref={toHref} />
					{place.file === undefined ? (
						<div class="empty">Choose a file to look at it.</div>
					) : (
						<FilePanel key={place.file} link={link} path={place.file} />
					)}
				</div>
			)}
		</>
	);
}

/** The home directory without a path; of a file its directory, too. */
async function findPlace(link: MachineLink, rest: string): Promise<{directory: string; file: string | undefined}> {
	if (rest === '') {
		const {info} = await (await link.client()).describe();
		return {directory: info?.userHomeDir ?? info?.cwd ?? 'file:///', file: undefined};
	}
	const {isDirectory} = await link.files.metadata(rest);
	return isDirectory ? {directory: rest, file: undefined} : {directory: parentOf(rest), file: rest};
}

interface DirectoryProps {
	readonly link: MachineLink;
	readonly directory: string;
	readonly file: string | undefined;
	readonly toHref: (path: string) => string;
}

function Directory({link, directory, file, toHref}: DirectoryProps): VNode {
	const [shown, setShown] = useState<ShownDirectory | undefined>();
	const [problem, setProblem] = useState<string | undefined>();
	useEffect(() => {
		let isOver = false;
		const read = (): void => {
			readShownDirectory(link.files, directory).then(
				entries => isOver || setShown(entries),
				(error: unknown) => isOver || setProblem(toErrorText(error)),
			);
		};
		read();
		const stop = watchDirectory(link, directory, read);
		return () => {
			isOver = true;
			stop();
		};
	}, [link, directory]);
	if (problem !== undefined) return <p class="problem">{problem}</p>;
	return (
		<ul class="tree" aria-label="Directory">
			{directory !== 'file:///' && (
				<li>
					<a href={toHref(parentOf(directory))}>
						<Icon name="folder" />
						<span>..</span>
					</a>
				</li>
			)}
			{shown?.entries.map(entry => (
				<li key={entry.path}>
					<a href={toHref(entry.path)} aria-current={entry.path === file ? 'true' : undefined}>
						<Icon name={entry.kind === 'directory' ? 'folder' : 'file'} />
						<span>{entry.shown}</span>
						{entry.kind === 'file' && <small class="number">{toSizeText(entry.size)}</small>}
					</a>
				</li>
			))}
			{shown?.isCut && <li class="dim">… and more that are not shown</li>}
		</ul>
	);
}

/** Reads a directory again when something in it changes, where the machine tells. */
function watchDirectory(link: MachineLink, directory: string, changed: () => void): () => void {
	const abort = new AbortController();
	const follow = async (): Promise<void> => {
		for await (const _ of await link.files.watch(directory, {recursive: false, signal: abort.signal})) changed();
	};
	follow().catch(() => {});
	return () => abort.abort();
}

interface UploadProps {
	readonly link: MachineLink;
	readonly directory: string;
	readonly failed: (reason: string | undefined) => void;
}

function Upload({link, directory, failed}: UploadProps): VNode {
	const input = useRef<HTMLInputElement>(null);
	const [waiting, setWaiting] = useState<File | undefined>();
	const [busy, setBusy] = useState<string | undefined>();
	const send = async (file: File, mayReplace: boolean): Promise<void> => {
		failed(undefined);
		setWaiting(undefined);
		const path = childOf(directory, toBinaryName(file.name));
		try {
			if (!mayReplace && (await link.files.exists(path))) {
				setWaiting(file);
				return;
			}
			setBusy(file.name);
			await file.stream().pipeTo(link.files.writeStream(path));
			goTo({kind: 'view', machine: link.key, view: 'files', rest: path});
		} catch (error) {
			failed(toErrorText(error));
		} finally {
			setBusy(undefined);
		}
	};
	return (
		<div class="tools">
			{waiting && (
				<>
					<span role="alert">{nameOf(childOf(directory, toBinaryName(waiting.name)))} exists.</span>
					<button type="button" class="danger" onClick={() => void send(waiting, true)}>
						Replace
					</button>
					<button type="button" onClick={() => setWaiting(undefined)}>
						Keep
					</button>
				</>
			)}
			<input
				ref={input}
				type="file"
				hidden
				onChange={event => {
					const [file] = event.currentTarget.files ?? [];
					event.currentTarget.value = '';
					if (file) void send(file, false);
				}}
			/>
			<button type="button" disabled={busy !== undefined} onClick={() => input.current?.click()}>
				{busy === undefined ? 'Upload' : 'Uploading…'}
			</button>
		</div>
	);
}

/** A name of this browser as bytes, one character for each. */
function toBinaryName(name: string): string {
	return String.fromCharCode(...new TextEncoder().encode(name.replaceAll(/[/\0]/g, '_')));
}
