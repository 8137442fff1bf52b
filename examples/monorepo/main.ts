/** Releases four packages to a registry on this machine, is killed after the first upload, and finishes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultProxy, startVerdaccio } from '@heddle/release/testing'
import { heddle } from './heddle.ts'
import { git, makeRepository, packages } from './repository.ts'

const folder = 'acme'
await makeRepository(folder)

await using verdaccio = await startVerdaccio()
// The registry takes `mail` and its answer gets lost: a second upload would be refused.
await using registry = await startFaultProxy({
  target: verdaccio.url,
  rules: [{ upload: true, package: '@acme/mail', status: 504, afterCommit: true, times: 1 }],
})
const publish = ['release', 'publish', '--registry', registry.url, '--no-smoke']

await heddle(folder, ['release', 'version'])
await heddle(folder, ['release', 'plan'])

const firstUpload = new AbortController()
const killed = heddle(folder, publish, firstUpload.signal)
const accepted = (): number =>
  [...registry.uploads.values()].reduce((sum, each) => sum + each.accepted, 0)
let hasEnded = false
void killed.finally(() => (hasEnded = true))
while (accepted() === 0 && !hasEnded) await sleep(5)
firstUpload.abort()
await killed
console.log('(its process was killed after the first upload)')

const code = await heddle(folder, publish)
console.log('\nWhat the registry has accepted:')
for (const [version, uploads] of registry.uploads) {
  console.log(`${version} ${uploads.accepted === 1 ? 'once' : `${uploads.accepted} times`}`)
}
console.log(`\nTags: ${git(folder, 'tag').trim().split('\n').join(' ')}`)
process.exitCode = code === 0 && registry.uploads.size === packages.length ? 0 : 1
