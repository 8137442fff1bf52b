import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { isError } from '@heddle/core'
import { registryManifest } from '../../../src/registry/npm/registry-manifest.ts'
import { scratch } from '../../support/packed.ts'
import { startStub } from '../../support/servers.ts'

const run = promisify(execFile)

/** Versions as people write them: every form that npm writes in another way. */
const written = {
  name: '@shape/a',
  version: '1.0.0',
  bin: './cli.js',
  repository: 'github:some/where',
  bugs: 'https://example.com/bugs',
  author: 'A Person <a@example.com> (https://example.com)',
  contributors: ['B <b@example.com>'],
  keywords: 'one, two',
  bundledDependencies: [],
  scripts: { test: 'node_modules/.bin/tap' },
  dependencies: { c: '^1.0.0' },
  optionalDependencies: { b: '^1.0.0' },
  _private: 'left by a tool',
}

/** The document that the registry would get from `npm publish`, without the fields that only npm knows. */
async function sentByNpm(folder: string): Promise<Record<string, unknown>> {
  const bodies: unknown[] = []
  await using stub = await startStub(async (request, response) => {
    if (request.method === 'PUT') bodies.push(await json(request))
    response.writeHead(request.method === 'PUT' ? 201 : 404).end('{}')
  })
  const token = `--${stub.url.replace(/^http:/, '')}/:_authToken=any`
  const args = [
    'publish',
    '--registry',
    `${stub.url}/`,
    token,
    '--fetch-retries=0',
    '--access=public',
  ]
  await run('npm', args, { cwd: folder })
  const { versions } = bodies[0] as { versions: Record<string, Record<string, unknown>> }
  const { dist, readmeFilename, _id, _nodeVersion, _npmVersion, ...fields } = versions['1.0.0']!
  return fields
}

for (const readme of [undefined, '# Title\n\nWhat it is for.\n']) {
  test(`the registry gets the fields that npm sends, ${readme === undefined ? 'without' : 'with'} a readme`, async () => {
    await using temporary = await scratch()
    const { folder } = temporary
    await writeFile(path.join(folder, 'package.json'), JSON.stringify(written))
    await writeFile(path.join(folder, 'cli.js'), '#!/usr/bin/env node\n')
    if (readme !== undefined) await writeFile(path.join(folder, 'README.md'), readme)
    const { readme: theirReadme, ...theirs } = await sentByNpm(folder)
    const ours = await registryManifest(written, readme)
    assert.deepEqual(ours, theirs)
    // It says so where there is none, which pages would show.
    assert.match(String(theirReadme), readme === undefined ? /^ERROR/ : /^# Title/)
  })
}

test('the manifest that was packed is not touched', async () => {
  const before = structuredClone(written)
  await registryManifest(written, undefined)
  assert.deepEqual(written, before)
})

test('a name that npm refuses is refused', async () => {
  const refused = registryManifest({ name: '.hidden', version: '1.0.0' }, undefined)
  await assert.rejects(refused, (error) => isError(error, 'HDL_PACK_FAILED'))
})
