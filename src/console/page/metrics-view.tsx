import type {VNode} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import UPlot, {type AlignedData} from 'uplot';
import type {MachineLink} from './machine-link.js';
import {type MachineSample, MachineSampler} from './machine-samples.js';
import {toClockText, toErrorText} from './shown-text.js';

const SAMPLE_MS = 2000;
/** Samples of a plot: ten minutes. */
const MAX_SAMPLES = 300;
const HEIGHT_PX = 150;

type SampleName = Exclude<keyof MachineSample, 'at'>;

const PLOTS: readonly {
	readonly name: SampleName;
	readonly title: string;
	readonly unit: string;
	readonly digits: number;
}[] = [
	{name: 'cpu', title: 'Processors', unit: '%', digits: 0},
	{name: 'load', title: 'Load', unit: '', digits: 2},
	{name: 'memory', title: 'Memory', unit: 'GiB', digits: 2},
	{name: 'processes', title: 'Running processes', unit: '', digits: 0},
	{name: 'output', title: 'Output of processes', unit: 'KiB/s', digits: 1},
];

/** A few figures of a machine, from the moment this is opened. */
export function MetricsView({link}: {link: MachineLink; rest: string}): VNode {
	const [samples, setSamples] = useState<readonly MachineSample[]>([]);
	const [problem, setProblem] = useState<string | undefined>();
	useEffect(() => {
		const sampler = new MachineSampler(link);
		let isOver = false;
		const take = async (): Promise<void> => {
			try {
				const sample = await sampler.take();
				if (!isOver) setSamples(known => [...known.slice(1 - MAX_SAMPLES), sample]);
				setProblem(undefined);
			} catch (error) {
				setProblem(toErrorText(error));
			}
		};
		void take();
		const timer = setInterval(() => document.visibilityState === 'visible' && void take(), SAMPLE_MS);
		return () => {
			isOver = true;
			clearInterval(timer);
		};
	}, [link]);
	return (
		<>
			<div class="view-head">
				<h1>Metrics</h1>
				<span class="dim">since this view was opened, every {SAMPLE_MS / 1000} s</span>
			</div>
			{problem !== undefined && (
				<p class="problem" role="alert">
					{problem}
				</p>
			)}
			<div class="plots">
				{PLOTS.map(plot => (
					<Plot key={plot.name} {...plot} samples={samples} />
				))}
			</div>
		</>
	);
}

interface PlotProps {
	readonly name: SampleName;
	readonly title: string;
	readonly unit: string;
	readonly digits: number;
	readonly samples: readonly MachineSample[];
}

function Plot({name, title, unit, digits, samples}: PlotProps): VNode {
	const host = useRef<HTMLDivElement>(null);
	const plot = useRef<UPlot | undefined>(undefined);
	const last = samples.at(-1)?.[name];
	const shown = last == null ? 'not told' : `${last.toFixed(digits)} ${unit}`;
	useEffect(() => {
		const element = host.current!;
		const draw = (): void => {
			plot.current?.destroy();
			plot.current = createPlot(element, [[], []]);
		};
		draw();
		const dark = matchMedia('(prefers-color-scheme: dark)');
		dark.addEventListener('change', draw);
		const observer = new ResizeObserver(() => plot.current?.setSize({width: element.clientWidth, height: HEIGHT_PX}));
		observer.observe(element);
		return () => {
			dark.removeEventListener('change', draw);
			observer.disconnect();
			plot.current?.destroy();
		};
	}, []);
	useEffect(() => {
		plot.current?.setData([samples.map(({at}) => at), samples.map(sample => sample[name])]);
	}, [samples, name]);
	return (
		<figure class="card" aria-label={`${title}: ${shown}`}>
			<h2>
				{title} <span>{shown}</span>
			</h2>
			<div ref={host} aria-hidden="true" />
		</figure>
	);
}

function createPlot(element: HTMLElement, data: AlignedData): UPlot {
	const style = getComputedStyle(document.documentElement);
	const colour = (name: string): string => style.getPropertyValue(name).trim();
	const axis = {
		stroke: colour('--dim'),
		grid: {stroke: colour('--line'), width: 1},
		ticks: {show: false},
		font: '11px system-ui, sans-serif',
	};
	return new UPlot(
		{
			width: element.clientWidth,
			height: HEIGHT_PX,
			legend: {show: false},
			cursor: {show: false},
			scales: {y: {range: (_, __, max) => [0, Math.max(1, (max ?? 1) * 1.15)]}},
			axes: [
				{...axis, space: 80, values: (_, seconds) => seconds.map(at => toClockText(at * 1000))},
				{...axis, size: 46},
			],
			series: [{}, {stroke: colour('--accent'), width: 2, fill: colour('--accent-soft'), points: {show: false}}],
		},
		data,
		element,
	);
}
