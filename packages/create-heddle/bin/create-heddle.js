#!/usr/bin/env node
// `npm create heddle my-work` is `heddle init my-work`: one program, two ways to call it.
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const manifest = createRequire(import.meta.url).resolve('heddle/package.json')
process.argv.splice(2, 0, 'init')
await import(pathToFileURL(path.join(path.dirname(manifest), 'bin/heddle.js')).href)
