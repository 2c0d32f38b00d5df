// Audits the GraphQL endpoint at the given URL and prints the results as JSON: [{ id, name, status, reason }].
// Started in the folder where the packages are installed, which is not the one of this file.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { serverAudits } = createRequire(join(process.cwd(), 'package.json'))('graphql-http');

const results = await Promise.all(serverAudits({ url: process.argv[2] }).map((audit) => audit.fn()));
console.log(JSON.stringify(results.map(({ id, name, status, reason }) => ({ id, name, status, reason }))));
