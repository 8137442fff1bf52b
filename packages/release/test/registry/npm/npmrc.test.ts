import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { parseNpmrc, readNpmConfig, type NpmConfig } from '../../../src/registry/npm/npmrc.ts'
import { scratch } from '../../support/packed.ts'

async function configOf(
  user: string,
  project: string,
  env: Record<string, string> = {},
): Promise<NpmConfig> {
  await using home = await scratch()
  const folder = path.join(home.folder, 'project')
  await mkdir(folder)
  await writeFile(path.join(home.folder, '.npmrc'), user)
  await writeFile(path.join(folder, '.npmrc'), project)
  return await readNpmConfig({ folder, env: { HOME: home.folder, ...env } })
}

test('a token is for the address it is under, and the longest path wins', async () => {
  const config = await configOf(
    [
      '//r.example/:_authToken=outer',
      '//r.example/team-a/:_authToken=inner',
      '//other.example:8080/npm:_authToken=port',
    ].join('\n'),
    '',
  )
  assert.equal(config.authorizationFor('https://r.example/'), 'Bearer outer')
  assert.equal(config.authorizationFor('https://r.example/team-a/'), 'Bearer inner')
  assert.equal(config.authorizationFor('https://r.example/team-a/deep/er/'), 'Bearer inner')
  assert.equal(config.authorizationFor('https://r.example/team-b/'), 'Bearer outer')
  assert.equal(config.authorizationFor('http://other.example:8080/npm/'), 'Bearer port')
  assert.equal(config.authorizationFor('http://other.example/npm/'), undefined)
  assert.equal(config.authorizationFor('https://evil.example/r.example/'), undefined)
})

test('${VAR} is taken from the environment, and stays when it is not there', async () => {
  const config = await configOf(
    '',
    '//r.example/:_authToken=${NPM_TOKEN}\n//s.example/:_authToken=${ABSENT}\n//t.example/:_authToken=${ABSENT?}\n',
    { NPM_TOKEN: 'from-env' },
  )
  assert.equal(config.authorizationFor('https://r.example/'), 'Bearer from-env')
  assert.equal(config.authorizationFor('https://s.example/'), 'Bearer ${ABSENT}')
  assert.equal(config.authorizationFor('https://t.example/'), undefined)
})

test('the environment wins over the project, the project over the user', async () => {
  const config = await configOf(
    'registry=https://user.example/\n//r.example/:_authToken=user\n@a:registry=https://a.example/',
    'registry = "https://project.example/"\n//r.example/:_authToken=project\n',
    { 'npm_config_//r.example/:_authToken': 'env', NPM_CONFIG_REGISTRY: 'https://env.example/' },
  )
  assert.equal(config.authorizationFor('https://r.example/'), 'Bearer env')
  assert.equal(config.registryFor('b'), 'https://env.example/')
  assert.equal(config.registryFor('@a/b'), 'https://a.example/')
  const files = await configOf(
    'registry=https://user.example/',
    'registry=https://project.example/',
  )
  assert.equal(files.registryFor('b'), 'https://project.example/')
  const nothing = await configOf('', '')
  assert.equal(nothing.registryFor('@a/b'), 'https://registry.npmjs.org/')
})

test('another user file is read when the npm client sets one', async () => {
  await using home = await scratch()
  const file = path.join(home.folder, 'elsewhere')
  await writeFile(file, '//r.example/:_authToken=there')
  const config = await readNpmConfig({ env: { HOME: home.folder, npm_config_userconfig: file } })
  assert.equal(config.authorizationFor('https://r.example/'), 'Bearer there')
})

test('user and password are read, separately and as one', async () => {
  const password = Buffer.from('p:w').toString('base64')
  const config = await configOf(
    `//r.example/:username=me\n//r.example/:_password=${password}\n//s.example/:_auth=bWU6cHc=`,
    '',
  )
  const both = Buffer.from('me:p:w').toString('base64')
  assert.equal(config.authorizationFor('https://r.example/'), `Basic ${both}`)
  assert.equal(config.authorizationFor('https://s.example/'), 'Basic bWU6cHc=')
})

test('comments, quotes, BOM, CRLF and nonsense are handled', () => {
  const text = '\uFEFF# c\r\n; c\r\n a = \'x y\' \r\nb="z"\r\nnonsense\r\n=x\r\nc=a=b\r\n'
  assert.deepEqual(
    [...parseNpmrc(text, {})],
    [
      ['a', 'x y'],
      ['b', 'z'],
      ['c', 'a=b'],
    ],
  )
})

test('printing the settings prints no secret', async () => {
  const config = await configOf('//r.example/:_authToken=hush', '')
  assert.doesNotMatch(inspect(config, { depth: 9, showHidden: true }), /hush/)
  assert.doesNotMatch(JSON.stringify(config), /hush/)
})

test('a setting with a hyphen is read from a variable, which cannot have one', async () => {
  const env = {
    npm_config_strict_ssl: 'false',
    NPM_CONFIG_HTTPS_PROXY: 'http://proxy.example:3128',
  }
  const config = await configOf('', '', env)
  const transport = (await config.transports(env))('https://r.example')
  assert.equal(transport.isStrict, false)
  assert.equal(transport.proxy, 'http://proxy.example:3128')
})

test('a script of Yarn 1 releases to the public registry, with the token that is kept for it', async () => {
  const token = '//registry.npmjs.org/:_authToken=ours'
  const config = await configOf(token, '', { npm_config_registry: 'https://registry.yarnpkg.com' })
  const url = config.registryFor('@acme/one')
  assert.equal(url, 'https://registry.npmjs.org/')
  assert.equal(config.authorizationFor(url), 'Bearer ours')
})
