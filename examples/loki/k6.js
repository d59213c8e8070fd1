// The load of the recipe: 5 to 50 users in 2 minutes, a minute of 50, two spikes to 100, down to 0.
//   k6 run -e TARGET=http://127.0.0.1:8080 -e SCALE=1 k6.js
import http from 'k6/http';
import { check } from 'k6';

const scale = Number(__ENV.SCALE || 1);
const seconds = (value) => `${Math.max(1, Math.round(value * scale * 1000))}ms`;

export const options = {
  scenarios: {
    queries: {
      executor: 'ramping-vus',
      startVUs: 5,
      stages: [
        { duration: seconds(120), target: 50 },
        { duration: seconds(60), target: 50 },
        { duration: seconds(30), target: 100 },
        { duration: seconds(30), target: 50 },
        { duration: seconds(30), target: 100 },
        { duration: seconds(30), target: 50 },
        { duration: seconds(120), target: 0 },
      ],
      gracefulRampDown: seconds(30),
      gracefulStop: seconds(30),
    },
  },
  summaryTrendStats: ['avg', 'p(50)', 'p(90)', 'p(99)', 'max'],
};

export default function () {
  const answer = http.get(`${__ENV.TARGET}/loki/api/v1/query_range?query=rate`);
  check(answer, { answered: (r) => r.status === 200 });
}
