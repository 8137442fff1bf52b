import { projectIn, type ForgeApi, type ForgeLack } from './api.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The releases of GitHub, or the missing settings. */
export function githubApi(env: Environment, remote: string): ForgeApi | ForgeLack {
  const token = env['GITHUB_TOKEN'] || env['GH_TOKEN']
  if (!token) {
    const todo = 'Set it to a token that may write the contents of the repository.'
    return { problem: 'GITHUB_TOKEN is not set', todo }
  }
  const project = env['GITHUB_REPOSITORY'] || projectIn(remote)
  if (project === undefined) {
    const problem = 'the address of origin does not name a repository of GitHub'
    return { problem, todo: 'Set GITHUB_REPOSITORY to owner/name.' }
  }
  const url = (env['GITHUB_API_URL'] || 'https://api.github.com').replace(/\/$/, '')
  const releases = `${url}/repos/${project}/releases`
  return {
    url,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      'user-agent': 'heddle-release',
      'x-github-api-version': '2022-11-28',
    },
    find: (tag) => `${releases}/tags/${encodeURIComponent(tag)}`,
    create: {
      url: releases,
      body: ({ tag, title, notes, commit, isPrerelease }) => ({
        tag_name: tag,
        target_commitish: commit,
        name: title,
        body: notes,
        prerelease: isPrerelease,
      }),
    },
  }
}
