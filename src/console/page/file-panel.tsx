import type {VNode} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {type FilePreview, readPreview} from './directory-state.js';
import {replaceUnique, saveWhole} from './file-edit.js';
import type {MachineLink} from './machine-link.js';
import {MAX_SAVED_BYTES, saveFile} from './save-file.js';
import {nameOf} from './shown-paths.js';
import {toErrorText, toSizeText} from './shown-text.js';

type Mode = 'look' | 'whole' | 'part';

/** One file: its content, download, and changes to it. */
export function FilePanel({link, path}: {link: MachineLink; path: string}): VNode {
	const [preview, setPreview] = useState<FilePreview | undefined>();
	const [mode, setMode] = useState<Mode>('look');
	const [problem, setProblem] = useState<string | undefined>();
	const [version, setVersion] = useState(0);
	useEffect(() => {
		setProblem(undefined);
		readPreview(link.files, path).then(setPreview, (error: unknown) => setProblem(toErrorText(error)));
	}, [link, path, version]);
	const attempt = (work: Promise<void>): void => {
		setProblem(undefined);
		void finish(work);
	};
	const finish = async (work: Promise<void>): Promise<void> => {
		try {
			await work;
			setMode('look');
			setVersion(version + 1);
		} catch (error) {
			setProblem(toErrorText(error));
		}
	};
	const text = preview?.kind === 'text' ? preview : undefined;
	return (
		<section class="preview" aria-label={nameOf(path)}>
			<div class="bar">
				<h2>{nameOf(path)}</h2>
				{preview && <span class="dim">{toSizeText(preview.size)}</span>}
				<span class="grow" />
				{text && !text.isCut && mode === 'look' && (
					<>
						<button type="button" onClick={() => setMode('part')}>
							Replace text
						</button>
						<button type="button" disabled={!isPlain(text.text)} onClick={() => setMode('whole')}>
							Edit
						</button>
					</>
				)}
				{mode === 'look' && (
					<button type="button" onClick={() => attempt(download(link, path))}>
						Download
					</button>
				)}
			</div>
			{problem !== undefined && (
				<p class="problem" role="alert">
					{problem}
				</p>
			)}
			{text && mode === 'whole' && (
				<WholeEdit
					text={text.text}
					cancel={() => setMode('look')}
					save={next => attempt(saveWhole(link.files, path, text.bytes, next))}
				/>
			)}
			{text && mode === 'part' && (
				<PartEdit
					cancel={() => setMode('look')}
					save={(from, to) => attempt(replaceUnique(link.files, path, from, to))}
				/>
			)}
			{mode === 'look' && preview && <Content preview={preview} />}
		</section>
	);
}

function Content({preview}: {preview: FilePreview}): VNode {
	switch (preview.kind) {
		case 'text':
			return (
				<pre tabIndex={0} role="region" aria-label="Content">
					{preview.text}
					{preview.isCut && '\n… only the beginning is shown'}
				</pre>
			);
		case 'image':
			return <img src={preview.url} alt="" />;
		case 'binary':
			return <div class="empty">No text. Download it to look at it.</div>;
	}
}

/** A text area changes single carriage returns, which would change lines nobody has touched. */
function isPlain(text: string): boolean {
	return !/\r(?!\n)/.test(text) && (!text.includes('\r\n') || !/[^\r]\n/.test(text));
}

async function download(link: MachineLink, path: string): Promise<void> {
	const {size = 0} = await link.files.metadata(path);
	if (size > MAX_SAVED_BYTES) throw new Error('the file is too large for a browser: use longarm get');
	const parts: Uint8Array[] = [];
	const reader = link.files.readStream(path).getReader();
	for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value);
	saveFile(nameOf(path), parts);
}

function WholeEdit({text, save, cancel}: {text: string; save: (text: string) => void; cancel: () => void}): VNode {
	const [value, setValue] = useState(text.replaceAll('\r\n', '\n'));
	const next = text.includes('\r\n') ? value.replaceAll('\n', '\r\n') : value;
	return (
		<>
			<div class="bar">
				<button type="button" class="primary" disabled={next === text} onClick={() => save(next)}>
					Save
				</button>
				<button type="button" onClick={cancel}>
					Cancel
				</button>
			</div>
			<textarea
				aria-label="Content"
				spellcheck={false}
				value={value}
				onInput={event => setValue(event.currentTarget.value)}
			/>
		</>
	);
}

function PartEdit({save, cancel}: {save: (from: string, to: string) => void; cancel: () => void}): VNode {
	const [from, setFrom] = useState('');
	const [to, setTo] = useState('');
	return (
		<>
			<div class="bar">
				<button type="button" class="primary" disabled={from === ''} onClick={() => save(from, to)}>
					Replace
				</button>
				<button type="button" onClick={cancel}>
					Cancel
				</button>
				<span class="dim">The text has to be in the file exactly once.</span>
			</div>
			<div class="edit-parts">
				<label for="from">Text now</label>
				<textarea id="from" spellcheck={false} value={from} onInput={event => setFrom(event.currentTarget.value)} />
				<label for="to">Text instead</label>
				<textarea id="to" spellcheck={false} value={to} onInput={event => setTo(event.currentTarget.value)} />
			</div>
		</>
	);
}
