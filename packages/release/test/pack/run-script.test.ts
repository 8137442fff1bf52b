import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { runScript } from '../../src/pack/run-script.ts'
import { planFromDisk, planned, Tree } from '../plan-kit.ts'

const onWindows = process.platform === 'win32' && 'these scripts are for a Unix shell'

function packageWith(scripts: Record<string, string>) {
  const tree = new Tree()
  tree.writeJson('packages/a/package.json', { name: '@s/a', version: '1.0.0', scripts })
  return { tree, found: planned(planFromDisk(tree), '@s/a').package }
}

test('a script that is not there is not run', async () => {
  const { tree, found } = packageWith({ empty: '' })
  using _tree = tree
  assert.equal(await runScript(found, 'build'), undefined)
  assert.equal(await runScript(found, 'empty'), undefined)
  assert.equal(await runScript(found, 'constructor'), undefined)
})

test('folder, path and variables are the same as with npm', { skip: onWindows }, async () => {
  const print =
    'echo "$PWD|$npm_lifecycle_event|$npm_package_name|$npm_package_version|$npm_package_json|$INIT_CWD"'
  const { tree, found } = packageWith({ build: print, path: 'echo "$PATH"', bin: 'own-tool' })
  using _tree = tree
  tree.write('node_modules/.bin/own-tool', '#!/bin/sh\necho far\n', 0o755)
  const built = await runScript(found, 'build', { version: '1.1.0' })
  assert.equal(
    built!.stdout.trim(),
    [found.folder, 'build', '@s/a', '1.1.0', found.manifestFile, found.folder].join('|'),
  )
  const folders = (await runScript(found, 'path'))!.stdout.trim().split(path.delimiter)
  assert.deepEqual(folders.slice(0, 3), [
    path.join(found.folder, 'node_modules/.bin'),
    tree.at('packages/node_modules/.bin'),
    tree.at('node_modules/.bin'),
  ])
  assert.equal((await runScript(found, 'bin'))!.stdout, 'far\n')
  tree.write('packages/a/node_modules/.bin/own-tool', '#!/bin/sh\necho near\n', 0o755)
  assert.equal((await runScript(found, 'bin'))!.stdout, 'near\n')
})

test('pre and post scripts run around it', { skip: onWindows }, async () => {
  const { tree, found } = packageWith({
    prebuild: 'echo pre >> log',
    build: 'echo build >> log',
    postbuild: 'echo post >> log; cat log',
    broken: 'exit 0',
    postbroken: 'echo lost >&2; exit 3',
  })
  using _tree = tree
  assert.equal((await runScript(found, 'build'))!.stdout, '')
  await assert.rejects(runScript(found, 'broken'), {
    code: 'HDL_COMMAND_FAILED',
    message: /exit code 3: lost/,
  })
})

test(
  'R1: a script that fails is an error with the end of its output',
  { skip: onWindows },
  async () => {
    const { tree, found } = packageWith({ build: 'echo wrong >&2; exit 1' })
    using _tree = tree
    await assert.rejects(runScript(found, 'build'), {
      code: 'HDL_COMMAND_FAILED',
      message: /exit code 1: wrong/,
    })
  },
)

test(
  'R3: an aborted or late script is gone before the error is there',
  { skip: onWindows },
  async () => {
    // Its child would write the file if it were left alone.
    const { tree, found } = packageWith({ build: 'sleep 30 & wait' })
    using _tree = tree
    const controller = new AbortController()
    const running = runScript(found, 'build', { signal: controller.signal })
    controller.abort(new Error('enough'))
    await assert.rejects(running, { code: 'HDL_CANCELLED', message: /enough/ })
    await assert.rejects(runScript(found, 'build', { deadline: 50 }), (error) => {
      assert.ok(isError(error, 'HDL_TIMEOUT'))
      assert.match(error.message, /Script "build" of @s\/a timed out after 50 ms/)
      return true
    })
  },
)
