// Operations with LongarmErrors, as in ../index.ts.
import {withFileErrors} from '../file-errors.js';
import {applyAttributes} from './attributes.js';
import {openTreeList} from './list-tree.js';
import {openTreePacker} from './pack-tree.js';
import {openTreeUnpacker} from './unpack-tree.js';

export type {TreePacker} from './pack-tree.js';
export {type ArchiveOutcome, isTransfer} from './transfer-outcome.js';
export type {TreeUnpacker, UnpackTreeOptions} from './unpack-tree.js';

export const listTree = withFileErrors(openTreeList);
export const setAttributes = withFileErrors(applyAttributes);
export const packTree = withFileErrors(openTreePacker);
export const unpackTree = withFileErrors(openTreeUnpacker);
