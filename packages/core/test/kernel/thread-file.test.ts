import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isError } from '../../src/errors.ts'
import {
  bundledThreadFile,
  threadFile,
  threadRoles,
  type FileLookup,
  type ThreadRole,
} from '../../src/kernel/thread-file.ts'

const folder = path.resolve('/srv/app/dist')
const bundle = pathToFileURL(path.join(folder, 'main.js')).href

function lookup(there: readonly string[], installed?: string): FileLookup {
  return {
    exists: (file) => there.includes(file),
    resolve: () => {
      if (installed === undefined) throw new Error('not installed')
      return installed
    },
  }
}

test('outside of a bundle each role of a thread has a file of its own', () => {
  for (const role of Object.keys(threadRoles)) {
    assert.ok(existsSync(fileURLToPath(threadFile(role as ThreadRole))), role)
  }
})

test('in a bundle threads start from heddle-thread beside it, whatever its extension', () => {
  for (const name of ['heddle-thread.js', 'heddle-thread.mjs', 'heddle-thread.cjs']) {
    const file = path.join(folder, name)
    assert.equal(bundledThreadFile(bundle, lookup([file])).href, pathToFileURL(file).href)
  }
})

test('chunks in a folder of their own find heddle-thread above it', () => {
  const file = path.join(folder, 'heddle-thread.js')
  const chunk = pathToFileURL(path.join(folder, 'assets/chunk-1.js')).href
  assert.equal(bundledThreadFile(chunk, lookup([file])).href, pathToFileURL(file).href)
})

test('a bundle without heddle-thread uses the package that is installed for it', () => {
  const installed = path.resolve('/srv/app/node_modules/@heddle/core/dist/thread.js')
  const found = bundledThreadFile(bundle, lookup([], installed))
  assert.equal(found.href, pathToFileURL(installed).href)
})

test('without a bundle entry the error names the bundle and the entry point to list', () => {
  assert.throws(
    () => bundledThreadFile(bundle, lookup([])),
    (error) =>
      isError(error, 'HDL_THREAD_FILE') &&
      error.message.includes(path.join(folder, 'main.js')) &&
      error.help.includes('@heddle/core/thread'),
  )
})

test('the address of a file is parsed once: each call of the thread pool asks for it', () => {
  assert.equal(threadFile('jobs'), threadFile('jobs'))
  assert.notEqual(threadFile('jobs').href, threadFile('watchdog').href)
})
