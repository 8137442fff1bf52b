/**
 * One life of a release, from changesets to notes, to be killed at any moment: `root registry forge`.
 *
 * It reports each phase and each change of a stage to its parent, and how it ended.
 */
import {
  openForge,
  openRegistries,
  planFromChangesets,
  planFromManifests,
  publishRelease,
  readWorkspace,
  versionRelease,
} from '@heddle/release'

const [root = '', url = '', forgeUrl = ''] = process.argv.slice(2)
const report = (message: object): void => void process.send!(message)

report({ phase: 'version' })
await versionRelease(root, { plan: async () => planFromChangesets(await readWorkspace(root)) })
report({ phase: 'publish' })
const registries = await openRegistries({ folder: root, npm: url, env: {} })
const forge = await openForge({
  kind: 'github',
  root,
  env: { GITHUB_TOKEN: 'any', GITHUB_REPOSITORY: 'chaos/all', GITHUB_API_URL: forgeUrl },
})
const replan = async (): ReturnType<typeof planFromManifests> =>
  planFromManifests(await readWorkspace(root))
const { ok, packages, warnings } = await publishRelease(await replan(), {
  registryOf: registries.registryOf,
  replan,
  push: 'origin',
  forge,
  allowUnpushed: true,
  smoke: false,
  retryBaseDelay: 1,
  // Longer than the registry needs to save an upload sent before the kill.
  settle: 2_000,
  observer: (event) => {
    if (event.type === 'node') report({ stage: event.name.slice(event.name.lastIndexOf(' ') + 1) })
  },
})
await forge[Symbol.asyncDispose]()
await registries[Symbol.asyncDispose]()
report({ ok, outcomes: packages.map(({ name, outcome }) => `${name} ${outcome}`), warnings })
process.disconnect()
