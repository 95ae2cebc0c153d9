import {describe, expect, test} from 'vitest';
import {pinDirectories} from '../../src/sandbox/pin-directories.js';
import {accessAt, type Mount} from '../../src/sandbox/plan.js';
import {seatbeltProfile} from '../../src/sandbox/seatbelt.js';

const pinned = (mounts: readonly Mount[]) => pinDirectories({mounts, network: 'none'});
const pinsOf = (mounts: readonly Mount[]) =>
	pinned(mounts).mounts.flatMap(({kind, path}) => (kind === 'pin' ? [path] : []));

const WORK: Mount = {kind: 'write', path: '/w'};

describe('the directories that are pinned', () => {
	test('are all between a writable root and what is protected below it, once each, parents first', () => {
		const mounts: Mount[] = [
			{kind: 'read', path: '/'},
			WORK,
			{kind: 'read', path: '/w/a/b/ro'},
			{kind: 'hidden', path: '/w/a/c/secret', fileType: 'file'},
		];
		expect(pinned(mounts).mounts).toEqual([
			...mounts.slice(0, 2),
			{kind: 'pin', path: '/w/a'},
			{kind: 'pin', path: '/w/a/b'},
			{kind: 'pin', path: '/w/a/c'},
			...mounts.slice(2),
		]);
	});

	test('begin below a root that is writable itself', () => {
		expect(
			pinsOf([
				{kind: 'write', path: '/'},
				{kind: 'read', path: '/a/b'},
			]),
		).toEqual(['/a']);
	});

	test('are none directly below a writable root, and none that cannot be written to', () => {
		expect(pinsOf([WORK, {kind: 'read', path: '/w/.git'}])).toEqual([]);
		expect(
			pinsOf([
				{kind: 'read', path: '/'},
				{kind: 'write', path: '/a/b/c'},
			]),
		).toEqual([]);
		const nested: Mount[] = [WORK, {kind: 'read', path: '/w/ro'}, {kind: 'write', path: '/w/ro/a/b'}];
		expect(pinsOf(nested)).toEqual([]);
		expect(pinsOf([...nested, {kind: 'read', path: '/w/ro/a/b/c/d'}])).toEqual(['/w/ro/a/b/c']);
	});

	test('are as writable as before', () => {
		const plan = pinned([WORK, {kind: 'read', path: '/w/a/b'}]);
		expect(['/w/a', '/w/a/x', '/w/a/b', '/w/a/b/c'].map(path => accessAt(plan, path))).toEqual([
			'write',
			'write',
			'read',
			'read',
		]);
	});

	test('cannot be renamed on macOS either', () => {
		expect(seatbeltProfile(pinned([WORK, {kind: 'read', path: '/w/a/b'}]))).toContain(
			'(deny file-write-unlink (literal "/w/a"))',
		);
	});
});
