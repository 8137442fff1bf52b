import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import type { Ecosystem, PlannedPackage } from '../../src/model.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import { scratch } from '../support/packed.ts'
import { startStub } from '../support/servers.ts'

function planned(
  name: string,
  ecosystem: Ecosystem = 'npm',
  manifest: Readonly<Record<string, unknown>> = {},
): Pick<PlannedPackage, 'package'> {
  return { package: { name, ecosystem, manifest } as PlannedPackage['package'] }
}

test('each package goes to its own registry: option, manifest, scope, default', async () => {
  await using home = await scratch()
  const npmrc = 'registry=https://default.example/\n@a:registry=https://scope.example/npm\n'
  await writeFile(path.join(home.folder, '.npmrc'), npmrc)
  const env = { HOME: home.folder }
  await using registries = await openRegistries({ folder: home.folder, env })
  const urlOf = (...asked: Parameters<typeof planned>): string =>
    registries.registryOf(planned(...asked)).url
  assert.equal(urlOf('b'), 'https://default.example/')
  assert.equal(urlOf('@a/b'), 'https://scope.example/npm/')
  const publishConfig = { registry: 'https://own.example' }
  assert.equal(urlOf('@a/b', 'npm', { publishConfig }), 'https://own.example/')
  const ofScope = { '@a:registry': 'https://gitlab.example/npm/', registry: 'https://own.example' }
  assert.equal(urlOf('@a/b', 'npm', { publishConfig: ofScope }), 'https://gitlab.example/npm/')
  assert.equal(urlOf('b', 'npm', { publishConfig: ofScope }), 'https://own.example/')
  assert.equal(urlOf('p', 'python'), 'https://pypi.org/')
  await using fixed = await openRegistries({
    folder: home.folder,
    env,
    npm: 'http://127.0.0.1:1/x',
    pypi: 'http://127.0.0.1:2',
  })
  assert.equal(
    fixed.registryOf(planned('@a/b', 'npm', { publishConfig })).url,
    'http://127.0.0.1:1/x/',
  )
  assert.equal(fixed.registryOf(planned('p', 'python')).url, 'http://127.0.0.1:2/')
})

test('one registry for each address, with the token that is for it', async () => {
  await using stub = await startStub((_, response) => void response.writeHead(404).end('{}'))
  await using home = await scratch()
  const { host } = new URL(stub.url)
  await writeFile(path.join(home.folder, '.npmrc'), `//${host}/:_authToken=\${RELEASE_TOKEN}\n`)
  const env = { HOME: home.folder, RELEASE_TOKEN: 'from-env' }
  await using registries = await openRegistries({ folder: home.folder, env, npm: stub.url })
  const one = registries.registryOf(planned('a'))
  assert.equal(registries.registryOf(planned('b')), one)
  await one.read('a', '1.0.0')
  assert.equal(stub.calls[0]?.headers.authorization, 'Bearer from-env')
})

test('the token of PyPI is read from the variables of its other tools', async () => {
  await using home = await scratch()
  const accountWith = async (env: Readonly<Record<string, string>>): Promise<string> => {
    await using registries = await openRegistries({ folder: home.folder, env: { ...env } })
    const account = await registries.registryOf(planned('p', 'python')).account!({})
    return account.is === 'anonymous' ? account.problem : account.is
  }
  assert.match(
    await accountWith({}),
    /^PYPI_TOKEN is not set, and uploads to https:\/\/pypi\.org\/ need/,
  )
  for (const name of ['PYPI_TOKEN', 'UV_PUBLISH_TOKEN', 'TWINE_PASSWORD']) {
    assert.equal(await accountWith({ [name]: 'pypi-secret' }), 'unknown', name)
  }
  assert.match(await accountWith({ TWINE_USERNAME: 'me', TWINE_PASSWORD: 'x' }), /not set/)
})
