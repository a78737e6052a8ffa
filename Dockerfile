# docker build --tag bedside .                                         the core
# docker build --tag bedside --build-arg EXTRAS=judge,annotate .       with extras
# docker run --rm --network none --volume "$PWD:/work" --user "$(id -u):$(id -g)" bedside
FROM python:3.11-slim-bookworm@sha256:528257d48c1da0dcecc2e725d1ae34498d60c965f1241e39cd6a85a8859bdf84 AS build
WORKDIR /source
COPY requirements.lock requirements-dev.lock constraints-cpu.txt pyproject.toml README.md LICENSE NOTICE ./
COPY tools/index_page.py tools/
COPY bedside bedside
ARG EXTRAS=""
# The versions are those that the tests pass with; the core's files have the hashes of the lock, and extras only versions.
# PyTorch, where an extra brings it, is the build without CUDA.
RUN python -m venv /opt/bedside && if [ -z "$EXTRAS" ]; then \
      /opt/bedside/bin/python -m pip install --no-cache-dir --no-compile --require-hashes --requirement requirements.lock \
      && /opt/bedside/bin/python -m pip install --no-cache-dir --no-compile --no-deps .; \
    else \
      /opt/bedside/bin/python -m pip install --no-cache-dir --no-compile --constraint requirements-dev.lock \
        --constraint constraints-cpu.txt --extra-index-url https://download.pytorch.org/whl/cpu ".[$EXTRAS]"; \
    fi

FROM python:3.11-slim-bookworm@sha256:528257d48c1da0dcecc2e725d1ae34498d60c965f1241e39cd6a85a8859bdf84
COPY --from=build /opt/bedside /opt/bedside
# Whoever it runs as can write there: any user may be named in `docker run --user`.
ENV PATH=/opt/bedside/bin:$PATH HOME=/tmp MPLCONFIGDIR=/tmp/matplotlib XDG_CACHE_HOME=/tmp/cache
RUN useradd --create-home --uid 1000 bedside && install --directory --owner bedside --mode 1777 /work
USER 1000
WORKDIR /work
ENTRYPOINT ["bedside"]
CMD ["demo", "--out", "demo-run"]
