import { stripVTControlCharacters } from 'node:util'
import { version, workspace } from '../conditions.ts'
import { peerProgram } from './peer-program.ts'
import { allIn, nameIn, type Command, type Output, type Reported, type Tool } from './tool.ts'

/** All packages have one version, and one tag. The registry knows no accounts, so it is not asked for one. */
const settings = {
  git: { push: false, requireUpstream: false, requireCommits: false },
  npm: false,
  plugins: { '@release-it-plugins/workspaces': { workspaces: ['packages/*'], skipChecks: true } },
}

/** It releases the version that it is given; a version from elsewhere is passed to it. */
function commandFor(of: string): Command {
  return { file: peerProgram('release-it'), args: [of, '--ci'] }
}

export const releaseIt: Tool = {
  title: 'release-it 19.2.4 with @release-it-plugins/workspaces 6.0.0: release-it 1.0.0 --ci',
  command: commandFor(version),
  commandFor,
  files: {
    '.release-it.json': `${JSON.stringify(settings)}\n`,
    // The version of the root is that of all packages.
    'package.json': `${JSON.stringify({ name: 'root', private: true, version }, undefined, 2)}\n`,
  },
  isLinked: true,
  modules: ['release-it', '@release-it-plugins/workspaces'],
  tagOf: (_name, of) => of,
  read: readOutput,
}

/** All packages are published, or it says which command failed. */
function readOutput({ stdout, stderr }: Output): Reported {
  const text = stripVTControlCharacters(`${stdout}\n${stderr}`)
  const isDone = /✔ npm publish/.test(text)
  const failed = allIn(text, /Failed to publish package (\S+)/g).map(nameIn)
  return {
    published: isDone ? Object.keys(workspace) : [],
    already: [],
    failed,
    notDone: [],
    message: /ERROR ([^\n]*)/.exec(text)?.[1] ?? '',
  }
}
