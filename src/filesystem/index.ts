// Operations with LongarmErrors. Inside this folder the plain functions are used, whose errors keep their errno.
import {copyEntry} from './copy-entry.js';
import {hashFile} from './digest.js';
import {listDirectoryChildren, makeDirectory, resolveRealPath} from './directories.js';
import {withFileErrors, withFileErrorsAtOnce} from './file-errors.js';
import {readSmallFileAtOnce, readWholeFile} from './read-file.js';
import {removePath} from './remove.js';
import {renameEntry} from './rename.js';
import {readMetadata, readMetadataAtOnce} from './stat.js';
import {walkBreadthFirst, walkInto} from './walk.js';
import {writeContent} from './write-file.js';

export const canonicalize = withFileErrors(resolveRealPath);
export const copy = withFileErrors(copyEntry);
export const createDirectory = withFileErrors(makeDirectory);
export const digest = withFileErrors(hashFile);
export const getMetadata = withFileErrors(readMetadata);
export const getMetadataAtOnce = withFileErrorsAtOnce(readMetadataAtOnce);
export const readDirectory = withFileErrors(listDirectoryChildren);
export const readFile = withFileErrors(readWholeFile);
export const readFileAtOnce = withFileErrorsAtOnce(readSmallFileAtOnce);
export const remove = withFileErrors(removePath);
export const rename = withFileErrors(renameEntry);
export const walk = withFileErrors(walkBreadthFirst);
export const walkTreeInto = withFileErrors(walkInto);
export const writeFile = withFileErrors(writeContent);
