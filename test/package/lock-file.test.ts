import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';

interface LockedPackage {
	readonly integrity?: string;
	readonly resolved?: string;
	readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const {packages} = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
	packages: Readonly<Record<string, LockedPackage>>;
};

test('the lock file has every optional package of every platform, which npm ci requires', () => {
	const locked = new Set(
		Object.keys(packages).map(path => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
	);
	const wanted = Object.values(packages).flatMap(({optionalDependencies = {}}) => Object.keys(optionalDependencies));
	expect(wanted.length).toBeGreaterThan(50);
	expect(wanted.filter(name => !locked.has(name))).toEqual([]);
});

test('the lock file pins every package by its content and names no registry', () => {
	const installed = Object.entries(packages).filter(([path]) => path !== '');
	expect(installed.filter(([, {integrity}]) => !integrity?.startsWith('sha512-'))).toEqual([]);
	expect(installed.filter(([, {resolved}]) => resolved !== undefined)).toEqual([]);
});
