# The same steps as ./dev, in two stages: build on Debian 12, run on Debian 12 slim.
FROM debian:12 AS build
WORKDIR /src
COPY packages/apt.txt packages/requirements-web.txt packages/
RUN apt-get update \
    && sed 's/#.*//' packages/apt.txt | xargs apt-get install -y --no-install-recommends \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv .venv \
    && .venv/bin/pip install --no-cache-dir --disable-pip-version-check -r packages/requirements-web.txt
COPY . .
RUN cmake --preset release && cmake --build --preset release --target activescale \
    && strip build/release/activescale

FROM debian:12-slim
COPY packages/apt-runtime.txt /tmp/
RUN apt-get update \
    && sed 's/#.*//' /tmp/apt-runtime.txt | xargs apt-get install -y --no-install-recommends \
    && rm -rf /var/lib/apt/lists/* /tmp/apt-runtime.txt
COPY --from=build /src/build/release/activescale /usr/bin/activescale
USER 65532:65532
EXPOSE 6443 9000 18080
ENTRYPOINT ["/usr/bin/activescale"]
